#include "server/ops/server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "common/base/status.h"
#include "common/base/version.h"
#include "server/models/registry.h"
#include "server/ops/config_summary.h"
#include "server/ops/data_dir.h"
#include "server/ops/http_server.h"
#include "server/ops/metrics.h"
#include "server/ops/pages.h"
#include "server/service/admin/admin_service.h"
#include "server/service/grpc_server.h"
#include "server/service/recommender.h"
#include "server/service/token.h"
#include "server/service/token_keys.h"

namespace bandana::server {
namespace {

// Time that calls in flight have to finish once new ones are refused.
constexpr absl::Duration kFinishTime = absl::Seconds(5);

// One queue is fastest up to two cores; above, one core is left to the rest of the process.
int QueueCount() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 1, 64);
}

void LogModel(const HostedModel& model) {
  const ModelSpec& spec = model.spec();
  spdlog::info("model {}: {}", spec.public_spec.name, ModelLine(spec));
  if (!spec.plan.empty()) spdlog::info("model {}: {}", spec.public_spec.name, spec.plan);
  if (const std::string warning = Warning(spec); !warning.empty()) {
    spdlog::warn("MODEL {}: {}", spec.public_spec.name, warning);
  }
}

// Members are in order of construction; destruction goes the other way: first the listeners, last
// the lock.
class RunningServer final : public Server {
 public:
  RunningServer(ServerSpec spec, const Clock& clock)
      : spec_(std::move(spec)), clock_(clock), started_(clock.Now()) {}
  ~RunningServer() override {
    if (grpc_ != nullptr) grpc_->Shutdown(absl::Now() + kFinishTime);
  }

  absl::Status Open() {
    BANDANA_ASSIGN_OR_RETURN(lock_, DataDirLock::Acquire(spec_.data_dir));
    BANDANA_RETURN_IF_ERROR(OpenModels());
    TokenKeys::Options keys;
    keys.file = spec_.token_key_file;
    keys.rotation_interval = spec_.token_rotation_interval;
    BANDANA_ASSIGN_OR_RETURN(keys_, TokenKeys::Open(keys, clock_));
    tokens_ = std::make_unique<TokenCodec>(*keys_);
    return Listen();
  }

  std::string listen() const override { return grpc_->address(); }
  std::string http_listen() const override { return ToString(http_->address()); }

  absl::Status Health() const override {
    for (const auto& model : registry_->List()) {
      const absl::Status health = model->Health();
      if (absl::IsResourceExhausted(health)) continue;  // a full disk passes
      BANDANA_RETURN_IF_ERROR(
          Annotate(model->Health(), absl::StrCat("model ", model->spec().public_spec.name)));
    }
    return absl::OkStatus();
  }

  absl::Status Drain(const std::function<void()>& wait) override {
    draining_ = true;
    grpc_->SetDraining();
    wait();
    grpc_->Shutdown(absl::Now() + kFinishTime);
    absl::Status first;
    for (const auto& model : registry_->List()) {
      first.Update(Annotate(model->Checkpoint().status(),
                            absl::StrCat("checkpoint of model ", model->spec().public_spec.name)));
    }
    return first;
  }

 private:
  absl::Status OpenModels() {
    ModelRegistry::Options options;
    options.data_dir = spec_.data_dir;
    options.models_max = spec_.limits.models_max;
    if (!spec_.checkpoint_key_file.empty()) {
      BANDANA_ASSIGN_OR_RETURN(options.checkpoint_seal,
                               CheckpointSeal::FromFile(spec_.checkpoint_key_file));
    }
    BANDANA_ASSIGN_OR_RETURN(registry_, ModelRegistry::Open(options, clock_));
    for (ModelSpec& model : spec_.models) {
      BANDANA_RETURN_IF_ERROR(registry_->AddConfigured(std::move(model)));
    }
    spec_.models.clear();
    for (const auto& model : registry_->List()) LogModel(*model);
    return absl::OkStatus();
  }

  absl::Status Listen() {
    recommender_ = std::make_unique<Recommender>(
        RecommenderOptions{.arms_per_request_max = spec_.limits.arms_per_request_max,
                           .batch_decisions_max = spec_.limits.batch_decisions_max},
        *registry_, *tokens_, clock_);
    admin_ = std::make_unique<AdminService>(
        *registry_, AdminOptions{.token_lifetime_max = spec_.token_rotation_interval,
                                 .on_models_changed = [this] { HealthChanged(); }});
    GrpcServerOptions options;
    options.listen = ToString(spec_.listen);
    options.queues = QueueCount();
    options.calls_in_flight_max = spec_.limits.calls_in_flight_max;
    options.watches_max = spec_.limits.watches_max;
    options.services = {admin_->service()};
    options.observer = &metrics_;
    BANDANA_ASSIGN_OR_RETURN(grpc_, GrpcServer::Start(options, *recommender_));
    serving_ = grpc_.get();
    BANDANA_ASSIGN_OR_RETURN(
        http_, HttpServer::Start(spec_.http_listen,
                                 [this](std::string_view path) { return Answer(path); }));
    return absl::OkStatus();
  }

  // Admin calls may come before GrpcServer::Start has returned.
  void HealthChanged() {
    if (GrpcServer* const server = serving_.load(); server != nullptr) server->HealthChanged();
  }

  HttpResponse Answer(std::string_view path) const {
    return Page(path, View(), metrics_, clock_.Now());
  }

  ServerView View() const {
    return {.version = kVersion,
            .started = started_,
            .draining = draining_,
            .calls_in_flight = grpc_->calls_in_flight(),
            .models = ViewModels(*registry_)};
  }

  ServerSpec spec_;
  const Clock& clock_;
  const absl::Time started_;
  std::atomic<bool> draining_ = false;
  std::atomic<GrpcServer*> serving_ = nullptr;
  Metrics metrics_;
  std::unique_ptr<DataDirLock> lock_;
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<TokenKeys> keys_;
  std::unique_ptr<TokenCodec> tokens_;
  std::unique_ptr<Recommender> recommender_;
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerSpec spec, const Clock& clock) {
  auto server = std::make_unique<RunningServer>(std::move(spec), clock);
  BANDANA_RETURN_IF_ERROR(server->Open());
  return server;
}

}  // namespace bandana::server
