#include "server/service/transport/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/service/connections/connection_limits.h"
#include "server/service/transport/health_watch.h"
#include "server/service/transport/listener.h"
#include "server/service/transport/ports.h"
#include "server/service/transport/reflection_service.h"
#include "server/service/transport/transport.h"

namespace bandana::server {
namespace {

constexpr int kQueuesMax = 64;
// The time that the last answers get to reach their clients, when Shutdown's own patience leaves
// them nothing.
constexpr absl::Duration kFlushGrace = absl::Milliseconds(200);
// How long clients must have been quiet, and how long we wait for that at most, before connections
// are closed.
constexpr absl::Duration kQuiet = absl::Milliseconds(20);
constexpr absl::Duration kQuietWaitMax = absl::Milliseconds(250);
constexpr absl::Duration kPollInterval = absl::Milliseconds(1);

absl::Status CheckOptions(const GrpcServerOptions& options) {
  if (options.listen.empty()) return InvalidArgument("listen: must be host:port or unix:PATH");
  if (options.queues < 1 || options.queues > kQueuesMax) {
    return InvalidArgument("queues: must be in [1, ", kQueuesMax, "], got ", options.queues);
  }
  if (options.calls_in_flight_max < 1 || options.calls_in_flight_max > kCallsInFlightMaxMax) {
    return InvalidArgument("calls_in_flight_max: must be in [1, ", kCallsInFlightMaxMax, "], got ",
                           options.calls_in_flight_max);
  }
  if (options.watches_max < 1 || options.watches_max > kWatchesMaxMax) {
    return InvalidArgument("watches_max: must be in [1, ", kWatchesMaxMax, "], got ",
                           options.watches_max);
  }
  if (!(options.watch_interval >= absl::Milliseconds(1))) {
    return InvalidArgument("watch_interval: must be at least 1 ms, got ",
                           absl::FormatDuration(options.watch_interval));
  }
  return absl::OkStatus();
}

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(const GrpcServerOptions& options, Handlers& handlers)
      : options_(options),
        handlers_(handlers),
        state_{.desk = CallDesk(
                   {.gatekeeper = options.gatekeeper,
                    .observer = options.observer,
                    .log = options.log,
                    .spans = options.spans,
                    .calls_max = options.calls_in_flight_max,
                    .keeps_unrecorded = UnrecordedBy(handlers),
                    .conduct = [this](const std::string& peer,
                                      Conduct conduct) { listener_.Report(peer, conduct); },
                    .tells_all = options.credentials != nullptr}),
               .callees = {handlers, &serving_},
               .unread = {.bytes_max = options.unread_bytes_max,
                          .time_max = options.unread_time_max}} {}

  ~GrpcServerImpl() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Serve() {
    if (options_.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    SetListenerLimits(builder, options_.connections, options_.receive_bytes_max);
    listener_.Use(options_.acceptor);
    BANDANA_RETURN_IF_ERROR(
        listener_.Open(options_.listen, options_.credentials, options_.connections, builder));
    builder.RegisterService(&services_.recommender);
    builder.RegisterService(&services_.health);
    for (grpc::Service* service : options_.services) builder.RegisterService(service);
    if (options_.reflection) {
      std::vector<std::string> names = {v1::Recommender::service_full_name(),
                                        grpc::health::v1::Health::service_full_name()};
      names.insert(names.end(), options_.service_names.begin(), options_.service_names.end());
      reflection_ = MakeReflectionService(std::move(names));
      builder.RegisterService(reflection_.get());
    }
    for (int i = 0; i < options_.queues; ++i) {
      queues_.push_back(
          std::make_unique<Queue>(state_, builder.AddCompletionQueue(), options_.aside));
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return Unavailable("cannot listen on ", options_.listen,
                         ": the address is in use, not of this machine, or not permitted");
    }
    watches_ =
        std::make_unique<HealthWatches>(HealthWatches::Options{.watches_max = options_.watches_max,
                                                               .interval = options_.watch_interval},
                                        services_.health, serving_, *queues_.front());
    watches_->Start();
    for (auto& queue : queues_) queue->Start(MakePorts(services_));
    listener_.Start(options_.connections.close_floods ? [this] { return Held(); }
                                                      : std::function<bool()>());
    return absl::OkStatus();
  }

  const std::string& address() const override { return listener_.address(); }
  std::optional<ConnectionStats> connections() const override {
    if (handlers_.KeepsReportsUnrecorded("")) return std::nullopt;
    return listener_.stats();
  }
  int calls_in_flight() const override { return state_.desk.slots.in_flight(); }
  int calls_shown() const override { return state_.desk.slots.shown_in_flight(); }
  void Report(const std::string& grpc_peer, Conduct conduct) override {
    listener_.Report(grpc_peer, conduct);
  }
  std::shared_ptr<grpc::Channel> InProcess() override {
    return server_->InProcessChannel(InProcessLimits(options_.receive_bytes_max));
  }
  void HealthChanged() override { watches_->Refresh(); }
  void SetDraining() override {
    draining_.store(true);
    watches_->Refresh();
  }

  void Shutdown(absl::Duration patience) override {
    const absl::Time deadline = SteadyNow() + patience;
    std::lock_guard lock(shutdown_mutex_);
    if (server_ == nullptr) return;
    SetDraining();
    state_.desk.Refuse();
    while (state_.desk.slots.in_flight() > 0 && SteadyNow() < deadline)
      absl::SleepFor(kPollInterval);
    state_.desk.EndUnfinished();
    AwaitQuiet(std::clamp(deadline - SteadyNow(), kQuiet, kQuietWaitMax));
    watches_->Close();
    listener_.Stop();
    state_.stopping.store(true);
    // Cancels at its deadline what is still open, and returns when every call and connection is
    // gone; the queue threads go on meanwhile.
    server_->Shutdown(After(std::max(deadline - SteadyNow(), kFlushGrace)));
    while (state_.objects.load(std::memory_order_acquire) > 0) absl::SleepFor(kPollInterval);
    for (auto& queue : queues_) queue->Stop();
    server_.reset();
  }

 private:
  // Whether a queue's thread does nothing but read.
  bool Held() const {
    const auto now = std::chrono::steady_clock::now();
    return std::any_of(queues_.begin(), queues_.end(),
                       [now](const auto& queue) { return queue->Held(now); });
  }

  // gRPC answers calls that arrive while it closes the connections with a bare CANCELLED, which no
  // client retries. So let the clients see our UNAVAILABLE first.
  void AwaitQuiet(absl::Duration patience) const {
    const absl::Time deadline = SteadyNow() + patience;
    std::int64_t refusals = -1;
    while (SteadyNow() < deadline &&
           refusals != state_.desk.refusals.load(std::memory_order_relaxed)) {
      refusals = state_.desk.refusals.load(std::memory_order_relaxed);
      absl::SleepFor(kQuiet);
    }
  }

  const GrpcServerOptions options_;
  Handlers& handlers_;
  TransportState state_;
  std::atomic<bool> draining_{false};
  const ServingQuery serving_ = [this](std::string_view service) {
    const Serving serving = handlers_.ServingOf(service);
    return draining_.load() && serving == Serving::kServing ? Serving::kNotServing : serving;
  };
  QueueServices services_;
  std::unique_ptr<grpc::Service> reflection_;
  Listener listener_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::unique_ptr<HealthWatches> watches_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex shutdown_mutex_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              Handlers& handlers) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  auto server = std::make_unique<GrpcServerImpl>(options, handlers);
  BANDANA_RETURN_IF_ERROR(server->Serve());
  return server;
}

}  // namespace bandana::server
