// The real bandana-server as a child process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/child_process.h"

namespace bandana::testing {

// A running server. Dies with the thread that started it. Not thread-safe.
class ServerProcess {
 public:
  struct Options {
    std::string config;  // text of ServerConfig; written to folder + "/server.textproto"
    std::string folder;  // an existing one; the server's data go to folder + "/data"
    std::string listen = "127.0.0.1:0";
    std::string http_listen = "127.0.0.1:0";
    std::vector<std::string> arguments;  // further flags
  };

  // Starts it and waits for the ready line. Errors: UNAVAILABLE it ended, or was not ready, before;
  // with exit code and stderr.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(const Options& options);

  const std::string& listen() const { return listen_; }              // 127.0.0.1:PORT
  const std::string& http_listen() const { return http_listen_; }    // 127.0.0.1:PORT
  const std::string& admin_listen() const { return admin_listen_; }  // empty: Admin is on listen
  const std::string& api_listen() const { return api_listen_; }      // empty: no HTTP API
  const std::string& peers_listen() const { return peers_listen_; }  // empty: no other servers
  const std::string& token() const { return token_; }                // empty: it has drawn none
  ChildProcess& process() { return *child_; }

  // SIGKILL, and waits for the end.
  void Kill();
  // SIGTERM, and waits for the end; returns the exit code.
  int Terminate();

 private:
  ServerProcess() = default;
  absl::Status AwaitReady();

  std::unique_ptr<ChildProcess> child_;
  std::string listen_;
  std::string http_listen_;
  std::string admin_listen_;
  std::string api_listen_;
  std::string peers_listen_;
  std::string token_;
};

}  // namespace bandana::testing
