// Server credentials of gRPC whose files may change while the server runs.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/private_file.h"
#include "server/service/tls/tls_files.h"

namespace grpc {
class ServerCredentials;
}

namespace bandana::server {

struct TlsOptions {
  TlsFiles files;
  bool require_client_certificate = false;
  absl::Duration reload_interval = absl::Minutes(1);
  // Called after each look at changed files: OK when they were taken, else why not. May be null.
  std::function<void(const absl::Status&)> on_reload;
};

// Follows the files. Each handshake uses the newest that LoadTls accepted; a change that it does
// not accept (half-written, a key that is not the certificate's, expired) is reported and tried
// again at the next look, while the old files stay in use. Connections that are open are not
// touched.
//
// Threads: all methods are safe; one background thread looks at the files.
class TlsReloader {
 public:
  // Errors: of LoadTls.
  static absl::StatusOr<std::shared_ptr<TlsReloader>> Open(const TlsOptions& options,
                                                           const Clock& clock);
  ~TlsReloader();
  TlsReloader(const TlsReloader&) = delete;
  TlsReloader& operator=(const TlsReloader&) = delete;

  // For any number of listeners; each keeps the reloader alive, and must outlive its server: gRPC
  // does not keep them.
  static std::shared_ptr<grpc::ServerCredentials> Credentials(
      const std::shared_ptr<TlsReloader>& reloader);

  // The material for a handshake that begins now.
  std::shared_ptr<const TlsMaterial> material() const;
  const TlsOptions& options() const { return options_; }

  // Looks at the files now. Errors: as Open, when they changed.
  absl::Status Look();
  // End of the present certificate's validity.
  absl::Time not_after() const;
  // How often changed files were not accepted, so far.
  std::int64_t failures() const;

 private:
  class Listener;
  struct Versions {
    FileVersion certificate, private_key, client_ca;
    friend bool operator==(const Versions&, const Versions&) = default;
  };
  TlsReloader(const TlsOptions& options, const Clock& clock);
  Versions VersionsNow() const;
  absl::Status Load();
  void Follow();

  const TlsOptions options_;
  const Clock& clock_;
  std::mutex look_mutex_;  // one look at a time; taken before mutex_; guards versions_
  Versions versions_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable stopped_;
  std::shared_ptr<const TlsMaterial> material_;
  std::int64_t failures_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bandana::server
