#include "server/api/api_server.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/api/http_api.h"
#include "server/api/http_front.h"

namespace bandana::server {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(1);

class Api final : public ApiServer {
 public:
  Api(const ApiServerOptions& options, Handlers& handlers)
      : handlers_(handlers),
        api_(options, handlers,
             [this](const std::string& peer, Conduct conduct) { front_->Report(peer, conduct); }) {}
  ~Api() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Serve(const ApiServerOptions& options) {
    HttpFrontOptions front;
    front.listen = options.listen;
    front.tls = options.tls;
    front.connections = options.connections;
    front.idle_time = options.connections.http_idle;
    front.threads = options.threads;
    front.body_bytes_max = static_cast<std::size_t>(options.body_bytes_max);
    front.bodies_bytes_max = std::max(front.bodies_bytes_max, 4 * front.body_bytes_max);
    // Calls may come before Start has returned.
    BANDANA_ASSIGN_OR_RETURN(front_, HttpFront::Bind(front, api_));
    front_->Start();
    return absl::OkStatus();
  }

  const std::string& address() const override { return front_->address(); }
  int calls_shown() const override { return api_.calls().desk().slots.shown_in_flight(); }
  std::optional<ConnectionStats> connections() const override {
    if (handlers_.KeepsReportsUnrecorded("")) return std::nullopt;
    return front_->connections();
  }

  void Shutdown(absl::Duration patience) override {
    const absl::Time deadline = SteadyNow() + patience;
    const std::lock_guard lock(shutdown_mutex_);
    if (front_ == nullptr || std::exchange(down_, true)) return;
    ApiCalls& calls = api_.calls();
    calls.desk().Refuse();
    front_->SetDraining();
    while (calls.desk().slots.in_flight() > 0 && SteadyNow() < deadline)
      absl::SleepFor(kPollInterval);
    calls.Close();
    api_.ShutAdmin(deadline - SteadyNow());
    front_->Flush(deadline);
    front_->Stop();
  }

 private:
  Handlers& handlers_;
  HttpApi api_;
  std::mutex shutdown_mutex_;
  bool down_ = false;
  std::unique_ptr<HttpFront> front_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(const ApiServerOptions& options,
                                                            Handlers& handlers) {
  auto server = std::make_unique<Api>(options, handlers);
  BANDANA_RETURN_IF_ERROR(Annotate(server->Serve(options), "api_listen"));
  return server;
}

}  // namespace bandana::server
