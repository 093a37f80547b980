#include "tests/support/server_process.h"

#include <signal.h>

#include <string_view>

#include "common/base/file.h"
#include "common/base/status.h"

namespace bandana::testing {
namespace {

// Long enough for a sanitized build on a busy machine.
constexpr absl::Duration kReadyTimeout = absl::Seconds(120);

}  // namespace

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(const Options& options) {
  const std::string config = ResolvePath("server.textproto", options.folder);
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(config, options.config, 0600));
  std::vector<std::string> command = {ProgramPath("bandana-server"), "--config=" + config,
                                      "--data_dir=" + ResolvePath("data", options.folder),
                                      "--listen=" + options.listen,
                                      "--http_listen=" + options.http_listen};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  std::unique_ptr<ServerProcess> server(new ServerProcess);
  server->child_ = std::make_unique<ChildProcess>(command);
  BANDANA_RETURN_IF_ERROR(server->AwaitReady());
  return server;
}

absl::Status ServerProcess::AwaitReady() {
  constexpr std::string_view kListen = "bandana-server ready listen=";
  constexpr std::string_view kHttp = " http=";
  constexpr std::string_view kAdmin = " admin=";
  constexpr std::string_view kApi = " api=";
  constexpr std::string_view kPeers = " peers=";
  constexpr std::string_view kToken = "bandana-server token ";
  child_->AwaitLine(kReadyTimeout);
  std::string out = child_->out();
  if (out.starts_with(kToken)) {
    const std::size_t end = out.find('\n');
    token_ = out.substr(kToken.size(), end - kToken.size());
    child_->AwaitLine(kReadyTimeout, 2);
    out = child_->out().substr(end + 1);
  }
  const std::string line = out.substr(0, out.find('\n'));
  const std::size_t http = line.find(kHttp);
  if (!line.starts_with(kListen) || http == std::string::npos) {
    child_->Signal(SIGKILL);
    const int code = child_->Wait();
    return Unavailable("bandana-server was not ready; exit code ", code, "; stderr:\n",
                       child_->err());
  }
  listen_ = line.substr(kListen.size(), http - kListen.size());
  http_listen_ = line.substr(http + kHttp.size());
  if (const std::size_t peers = http_listen_.find(kPeers); peers != std::string::npos) {
    peers_listen_ = http_listen_.substr(peers + kPeers.size());
    http_listen_.resize(peers);
  }
  if (const std::size_t api = http_listen_.find(kApi); api != std::string::npos) {
    api_listen_ = http_listen_.substr(api + kApi.size());
    http_listen_.resize(api);
  }
  if (const std::size_t admin = http_listen_.find(kAdmin); admin != std::string::npos) {
    admin_listen_ = http_listen_.substr(admin + kAdmin.size());
    http_listen_.resize(admin);
  }
  return absl::OkStatus();
}

void ServerProcess::Kill() {
  child_->Signal(SIGKILL);
  child_->Wait();
}

int ServerProcess::Terminate() {
  child_->Signal(SIGTERM);
  return child_->Wait();
}

}  // namespace bandana::testing
