#include "server/ops/server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "server/api/admin/admin_api.h"
#include "server/api/api_server.h"
#include "server/models/registry.h"
#include "server/ops/config/config_summary.h"
#include "server/ops/config/data_dir.h"
#include "server/ops/config/recipes.h"
#include "server/ops/descriptors.h"
#include "server/ops/log_setup.h"
#include "server/ops/model_lines.h"
#include "server/ops/observation/call_lines.h"
#include "server/ops/observation/connection_watch.h"
#include "server/ops/observation/history.h"
#include "server/ops/observation/metrics.h"
#include "server/ops/observation/pages.h"
#include "server/ops/observation/posterior_ages.h"
#include "server/ops/observation/process_stats.h"
#include "server/ops/observation/refusal_watch.h"
#include "server/ops/page_server.h"
#include "server/ops/peers.h"
#include "server/ops/security.h"
#include "server/ops/span_sender.h"
#include "server/service/admin/admin_listener.h"
#include "server/service/admin/admin_service.h"
#include "server/service/answer_keys_of_tokens.h"
#include "server/service/owners/hand_decision.h"
#include "server/service/recommender.h"
#include "server/service/tls/tls_credentials.h"
#include "server/service/tokens/token.h"
#include "server/service/tokens/token_keys.h"
#include "server/service/transport/grpc_server.h"

namespace bandana::server {
namespace {

// Between two attempts to open models that have failed.
constexpr absl::Duration kRecoverInterval = absl::Seconds(60);
// Time that calls in flight have to finish once new ones are refused.
constexpr absl::Duration kFinishTime = absl::Seconds(5);

// One queue is fastest up to two cores; above, one core is left to the rest of the process.
int QueueCount() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 1, 64);
}

// Members are in order of construction; destruction goes the other way: first the listeners, last
// the lock.
class RunningServer final : public Server {
 public:
  RunningServer(ServerSpec spec, const Clock& clock, ShowToken show_token)
      : spec_(std::move(spec)),
        clock_(clock),
        show_token_(std::move(show_token)),
        started_(clock.Now()) {}
  ~RunningServer() override {
    if (recovery_.valid()) recovery_.wait();
    ShutListeners();
  }

  absl::Status Open() {
    BANDANA_RETURN_IF_ERROR(OpenStores());
    BANDANA_RETURN_IF_ERROR(Listen());
    // Calls come in already: each model is served as soon as it is open.
    return OpenModels();
  }

  absl::StatusOr<std::vector<AbsentModel>> Try() {
    BANDANA_RETURN_IF_ERROR(OpenStores());
    BANDANA_RETURN_IF_ERROR(OpenSecurity());
    std::vector<AbsentModel> failed = registry_->ConfigureAliases(std::move(spec_.aliases));
    for (AbsentModel& model : registry_->Configure(std::move(spec_.models))) {
      failed.push_back(std::move(model));
    }
    return failed;
  }

  absl::Status OpenStores() {
    BANDANA_ASSIGN_OR_RETURN(lock_, DataDirLock::Acquire(spec_.data_dir));
    BANDANA_RETURN_IF_ERROR(FitConnections());
    if (spec_.peers) {
      BANDANA_ASSIGN_OR_RETURN(peers_, Peers::Open(spec_, clock_));
    }
    BANDANA_RETURN_IF_ERROR(OpenRegistry());
    TokenKeys::Options keys;
    keys.file = spec_.token_key_file;
    BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<SharedFiles> shared, spec_.log->Shared());
    if (spec_.token_keys_shared && shared != nullptr && shared->keeps_secrets()) {
      keys.store = SharedKeys(std::move(shared), spec_.token_key_file);
    }
    keys.rotation_interval = spec_.token_rotation_interval;
    BANDANA_ASSIGN_OR_RETURN(keys_, TokenKeys::Open(keys, clock_));
    tokens_ = std::make_unique<TokenCodec>(*keys_);
    answer_keys_ = std::make_unique<AnswerKeysOfTokens>(*keys_);
    BANDANA_ASSIGN_OR_RETURN(
        decisions_, DecisionIndex::Open(
                        {.path = spec_.data_dir + "/decisions.sqlite",
                         .keys = answer_keys_.get(),
                         .limits = IndexLimits(spec_.limits),
                         .warn = [](const std::string& message) { spdlog::warn("{}", message); }},
                        clock_));
    return absl::OkStatus();
  }

  std::string listen() const override { return grpc_->address(); }
  std::string admin_listen() const override {
    return admin_listener_ == nullptr ? "" : admin_listener_->address();
  }
  std::string peers_listen() const override { return peers_ == nullptr ? "" : peers_->listen(); }
  std::string api_listen() const override { return api_ == nullptr ? "" : api_->address(); }
  std::string http_listen() const override { return http_->address(); }

  absl::Status Health() const override {
    absl::Status first;
    for (const auto& model : registry_->List()) {
      const absl::Status health = model->Health();
      if (health.ok() || Passes(health)) return absl::OkStatus();
      first.Update(Annotate(health, absl::StrCat("model ", model->spec().public_spec.name)));
    }
    return first;
  }

  void Tick() override {
    const ServerView view = View();
    connection_watch_.See(view.connections, clock_.Now());
    metrics_.Tick(view);
    history_.Tick(view, metrics_.Totals(), ReadProcessStats().resident_bytes, clock_.Now());
    call_lines_.Flush();
    LookAtKeys();
    Recover();
  }

  bool Reload(std::optional<ServerSpec> spec) override {
    const bool all = Take(std::move(spec));
    if (!all) ++reload_failures_;
    if (all || reload_refused_ == 0) reload_refused_ = all ? 0 : absl::ToUnixNanos(clock_.Now());
    return all;
  }

  absl::Status Drain(const std::function<void()>& wait) override {
    draining_ = true;
    registry_->Leave();
    grpc_->SetDraining();
    wait();
    ShutListeners();
    call_lines_.Flush();
    absl::Status first;
    for (const auto& model : registry_->List()) {
      if (model->owned() == nullptr) continue;  // its owner writes them
      const absl::Status written = model->owned()->Checkpoint().status();
      if (absl::IsAborted(written)) continue;  // another server owns it by now
      first.Update(
          Annotate(written, absl::StrCat("checkpoint of model ", model->spec().public_spec.name)));
    }
    return first;
  }

 private:
  void ShutListeners() {
    if (api_ != nullptr) api_->Shutdown(kFinishTime);
    if (admin_listener_ != nullptr) admin_listener_->StopListening();
    if (admin_api_ != nullptr) admin_api_->Shutdown(kFinishTime);
    if (grpc_ != nullptr) grpc_->Shutdown(kFinishTime);
    if (admin_listener_ != nullptr) admin_listener_->Shutdown(kFinishTime);
    // Last: what other servers have for the models of this one goes on until then.
    if (peers_ != nullptr) peers_->Shutdown(kFinishTime);
  }

  // False when something was not taken.
  bool Take(std::optional<ServerSpec> spec) {
    if (!spec) {
      ++access_reload_failures_;
      return false;
    }
    bool all = TakeAccess(std::move(spec->access));
    all &= TakeModels(*spec);
    SetLogLevel(spec->log_level);
    TakeLimits(spec->limits);
    const std::vector<std::string> fixed = FieldsForRestart(spec_.fixed, spec->fixed);
    if (fixed.empty()) return all;
    spdlog::warn("reload: these fields have changed and need a restart: {}",
                 absl::StrJoin(fixed, ", "));
    return false;
  }

  absl::Status OpenRegistry() {
    ModelRegistry::Options options;
    options.data_dir = spec_.data_dir;
    options.models_max = spec_.limits.models_max;
    options.token_lifetime_max = spec_.token_rotation_interval;
    options.clock_ahead_max = spec_.clock_ahead_max;
    options.log = spec_.log;
    options.noise_key_file = spec_.noise_key_file;
    options.open_later = true;
    if (peers_ != nullptr) {
      options.address = peers_->address();
      options.hand_decision = [this](const std::string& owner, const PublicSpec& model,
                                     std::span<const Decision> slots) {
        HandDecisionTo(peers_->owners(), *tokens_, owner, model, slots);
      };
      options.owner_reached = std::bind_front(&OwnerChannels::Reaches, &peers_->owners());
      options.owner_gone = [this](const std::string& owner) { peers_->owners().GiveUp(owner); };
      options.ask_others = std::bind_front(&Peers::AskOthers, peers_.get());
      options.ask_parts = std::bind_front(&Peers::AskParts, peers_.get());
    }
    options.warn = [](std::string_view model, const std::string& message) {
      model.empty() ? spdlog::warn("{}", message) : spdlog::warn("model {}: {}", model, message);
    };
    if (!spec_.checkpoint_key_file.empty()) {
      BANDANA_ASSIGN_OR_RETURN(options.checkpoint_seal,
                               CheckpointSeal::FromFile(spec_.checkpoint_key_file));
    }
    BANDANA_ASSIGN_OR_RETURN(registry_, ModelRegistry::Open(options, clock_));
    return absl::OkStatus();
  }

  // Errors: a mistake in the configuration; or no model at all can be opened.
  absl::Status OpenModels() {
    // Before the models: a name is answered UNAVAILABLE while its model is being opened.
    for (const AbsentModel& alias : registry_->ConfigureAliases(std::move(spec_.aliases))) {
      if (absl::IsAlreadyExists(alias.why)) return alias.why;
      spdlog::error("{}", std::string(alias.why.message()));
    }
    spec_.aliases.clear();
    const std::vector<AbsentModel> failed = registry_->Configure(std::move(spec_.models));
    spec_.models.clear();
    for (const AbsentModel& model : failed) {
      absl::Status why = WhyAbsent(model);
      if (absl::IsInvalidArgument(why) || absl::IsAlreadyExists(why)) return why;
      spdlog::error("{}; the other models are served", std::string(why.message()));
    }
    if (!failed.empty() && registry_->List().empty()) return WhyAbsent(failed.front());
    LogServed(*registry_);
    for (const absl::string_view line :
         absl::StrSplit(SecuritySummary(spec_.tls, spec_.access), '\n', absl::SkipEmpty())) {
      spdlog::info("{}", std::string(line));
    }
    opened_ = true;
    HealthChanged();
    return absl::OkStatus();
  }

  bool TakeAccess(std::optional<AccessRules> access) {
    if (!access && gatekeeper_ == nullptr) return true;
    if (access && gatekeeper_ != nullptr) {
      if (const absl::Status opened = OpenToken(spec_.data_dir, show_token_, *access);
          !opened.ok()) {
        ++access_reload_failures_;
        spdlog::error("reload: access: {}; the rules before stay in use",
                      std::string(opened.message()));
        return false;
      }
      for (const absl::string_view line :
           absl::StrSplit(AccessSummary(access), '\n', absl::SkipEmpty())) {
        spdlog::info("{}", std::string(line));
      }
      gatekeeper_->Replace(*std::move(access));
      spdlog::info("reload: took the access rules");
      return true;
    }
    ++access_reload_failures_;
    spdlog::error("reload: access: {}; the rules before stay in use",
                  access ? "the server was started without rules; they need a restart"
                         : "the configuration has no rules; opening the server needs a restart");
    return false;
  }

  bool TakeModels(ServerSpec& spec) {
    bool all = true;
    std::vector<ModelSpec> models;
    for (ModelSpec& model : spec.models) {
      if (model.public_spec.token_lifetime <= spec_.token_rotation_interval) {
        models.push_back(std::move(model));
        continue;
      }
      all = false;
      spdlog::error(
          "reload: model {}: token_lifetime is longer than tokens.rotation_interval of "
          "{}, which needs a restart; no model is taken",
          model.public_spec.name, absl::FormatDuration(spec_.token_rotation_interval));
    }
    if (!all) return false;
    for (const AbsentModel& alias : registry_->ConfigureAliases(std::move(spec.aliases))) {
      all = false;
      spdlog::error("reload: {}", std::string(alias.why.message()));
    }
    for (const AbsentModel& failed : registry_->Configure(std::move(models))) {
      all = false;
      spdlog::error("reload: {}", std::string(WhyAbsent(failed).message()));
    }
    LogServed(*registry_);
    HealthChanged();
    return all;
  }

  void TakeLimits(const LimitsSpec& limits) {
    recommender_->Take({.arms_per_request_max = limits.arms_per_request_max,
                        .batch_decisions_max = limits.batch_decisions_max});
    registry_->SetModelsMax(limits.models_max);
    decisions_->SetLimits(IndexLimits(limits));
  }

  // Where there are no principals there is nobody to keep room for.
  DecisionIndex::Limits IndexLimits(const LimitsSpec& limits) const {
    const std::uint64_t all = limits.decision_ids_bytes_max;
    return {.bytes_max = all, .caller_bytes_max = spec_.access ? all / 4 : all};
  }

  // Beside everything else: opening a model takes long.
  void Recover() {
    if (clock_.Steady() < recover_at_) return;
    recover_at_ = clock_.Steady() + kRecoverInterval;
    const bool busy = recovery_.valid() &&
                      recovery_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    if (!busy) recovery_ = std::async(std::launch::async, [this] { registry_->Recover(); });
  }

  // Keys of issuers of signed tokens, whose files may have changed.
  void LookAtKeys() {
    if (gatekeeper_ == nullptr) return;
    const Gatekeeper::KeyNews news = gatekeeper_->LookAtKeys();
    for (const std::string& path : news.taken) spdlog::info("access: took the keys of {}", path);
    for (const std::string& key : news.left_out) spdlog::warn("access: keys_file: {}", key);
    for (const std::string& why : news.failed) {
      ++access_reload_failures_;
      spdlog::error("access: keys_file: {}; the keys before stay in use", why);
    }
  }

  absl::Status Listen() {
    recommender_ = MakeRecommender(
        RecommenderOptions{.arms_per_request_max = spec_.limits.arms_per_request_max,
                           .batch_decisions_max = spec_.limits.batch_decisions_max},
        *registry_, *tokens_, clock_, decisions_.get(), Owners());
    BANDANA_RETURN_IF_ERROR(OpenSecurity());
    if (spec_.trace_collector) {
      span_sender_.emplace(*spec_.trace_collector, spans_.emplace(clock_));
    }
    admin_ = std::make_unique<AdminService>(
        *registry_, AdminOptions{.token_lifetime_max = spec_.token_rotation_interval,
                                 .on_models_changed = [this] { HealthChanged(); },
                                 .decision_index = decisions_.get(),
                                 .owners = Owners(),
                                 .calls = {.gatekeeper = gatekeeper_.get(),
                                           .observer = &metrics_,
                                           .log = &call_lines_,
                                           .spans = Spans(),
                                           .overloaded = [this] { return Overloaded(); },
                                           .handed = &handed_calls_,
                                           .conduct =
                                               [this](const std::string& peer, Conduct conduct) {
                                                 AdminConduct(peer, conduct);
                                               }}});
    GrpcServerOptions options;
    options.listen = ToString(spec_.listen);
    options.credentials = Credentials();
    options.connections = spec_.limits.connections;
    options.gatekeeper = gatekeeper_.get();
    options.queues = QueueCount();
    options.calls_in_flight_max = spec_.limits.calls_in_flight_max;
    options.watches_max = spec_.limits.watches_max;
    if (spec_.admin_listen) {
      options.receive_bytes_max = kReceivedMessageBytesMax;
    } else {
      options.services = {admin_->service()};
      options.service_names = {std::string(AdminService::kName)};
    }
    options.observer = &metrics_;
    options.log = &call_lines_;
    options.spans = Spans();
    BANDANA_ASSIGN_OR_RETURN(grpc_, GrpcServer::Start(options, *recommender_));
    serving_ = grpc_.get();
    if (spec_.admin_listen) BANDANA_RETURN_IF_ERROR(OpenAdmin());
    BANDANA_RETURN_IF_ERROR(OpenApi());
    BANDANA_RETURN_IF_ERROR(ServePeers());
    BANDANA_ASSIGN_OR_RETURN(
        http_, PageServer::Start(spec_.http_listen, spec_.limits.connections,
                                 [this](std::string_view path) { return Answer(path); }));
    paging_ = http_.get();
    return absl::OkStatus();
  }

  absl::Status OpenAdmin() {
    BANDANA_ASSIGN_OR_RETURN(admin_listener_,
                             AdminListener::Bind(ToString(*spec_.admin_listen), Credentials(),
                                                 spec_.limits.connections, admin_->service()));
    administering_ = admin_listener_.get();
    admin_api_ = AdminApi::Start(
        {.admin = {.door = {.channel = admin_listener_->InProcess(), .handed = &handed_calls_},
                   .gatekeeper = gatekeeper_.get(),
                   .listen = *spec_.admin_listen,
                   .tls = tls_ != nullptr,
                   .recipes = RecipesJson(spec_.token_rotation_interval)},
         .tls = tls_,
         .connections = spec_.limits.connections,
         .conduct = [this](const std::string& peer, Conduct conduct) {
           AdminConduct(peer, conduct);
         }});
    admin_listener_->Start([this](int connection) { admin_api_->Take(connection); });
    return absl::OkStatus();
  }

  absl::Status OpenApi() {
    if (!spec_.api) return absl::OkStatus();
    ApiServerOptions options;
    options.listen = ToString(spec_.api->listen);
    options.tls = tls_;
    options.connections = spec_.limits.connections;
    options.threads = spec_.api->threads;
    options.body_bytes_max = spec_.api->body_bytes_max;
    options.allowed_origins = spec_.api->allowed_origins;
    options.personalizer = spec_.api->personalizer;
    options.gatekeeper = gatekeeper_.get();
    options.calls_in_flight_max = spec_.limits.calls_in_flight_max;
    options.observer = &metrics_;
    options.log = &call_lines_;
    options.spans = Spans();
    if (!spec_.admin_listen) {
      options.admin = AdminDoor{.channel = grpc_->InProcess(), .handed = &handed_calls_};
      options.recipes = RecipesJson(spec_.token_rotation_interval);
    }
    BANDANA_ASSIGN_OR_RETURN(api_, ApiServer::Start(options, *recommender_));
    return absl::OkStatus();
  }

  // Null: nobody traces. Calls from other servers have no spans: their first server has.
  CallLog* Spans() { return spans_ ? &*spans_ : nullptr; }

  // Null: there are no others.
  OwnerChannels* Owners() const { return peers_ == nullptr ? nullptr : &peers_->owners(); }

  absl::Status ServePeers() {
    if (peers_ == nullptr) return absl::OkStatus();
    return peers_->Serve(spec_,
                         {.registry = *registry_,
                          .tokens = *tokens_,
                          .decision_index = *decisions_,
                          .clock = clock_,
                          .log = &call_lines_,
                          .admin = {.token_lifetime_max = spec_.token_rotation_interval,
                                    .on_models_changed = [this] { HealthChanged(); },
                                    .decision_index = decisions_.get(),
                                    .calls = {.overloaded = [this] { return Overloaded(); }}}});
  }

  // The resources that the listeners may have together, beside everything else.
  absl::Status FitConnections() {
    const int listeners =
        2 + (spec_.admin_listen ? 1 : 0) + (spec_.api ? 1 : 0) + (spec_.peers ? 1 : 0);
    return FitIntoDescriptors(listeners, spec_.limits.models_max, spec_.limits.connections);
  }

  // Calls of Admin may come before Listen has returned.
  void AdminConduct(const std::string& peer, Conduct conduct) {
    if (AdminListener* const admin = administering_.load(); admin != nullptr) {
      return admin->Report(peer, conduct);
    }
    if (GrpcServer* const server = serving_.load(); server != nullptr)
      server->Report(peer, conduct);
  }

  absl::Status OpenSecurity() {
    BANDANA_ASSIGN_OR_RETURN(Security security, Security::Open(spec_, clock_, show_token_));
    tls_ = std::move(security.tls);
    gatekeeper_ = std::move(security.gatekeeper);
    return absl::OkStatus();
  }

  std::shared_ptr<grpc::ServerCredentials> Credentials() const {
    return tls_ == nullptr ? nullptr : TlsReloader::Credentials(tls_);
  }

  // Three quarters of the calls that may be in flight are: administration waits.
  bool Overloaded() const {
    const GrpcServer* const server = serving_.load();
    return server != nullptr &&
           4 * server->calls_in_flight() >= 3 * spec_.limits.calls_in_flight_max;
  }

  // Admin calls may come before GrpcServer::Start has returned.
  void HealthChanged() {
    if (GrpcServer* const server = serving_.load(); server != nullptr) server->HealthChanged();
    if (peers_ != nullptr) peers_->HealthChanged();
  }

  HttpResponse Answer(std::string_view path) {
    const EffectLooks looks = LooksOn(path, registry_->List().size());
    return Page(path, View(looks), metrics_, history_, clock_.Now());
  }

  ServerView View(const EffectLooks& looks = {}) {
    ServerView view{
        .version = kVersion,
        .started = started_,
        .starting = !opened_,
        .draining = draining_,
        .calls_in_flight = grpc_->calls_shown() + (api_ == nullptr ? 0 : api_->calls_shown()),
        .models = ViewModels(*registry_, looks)};
    if (tls_ != nullptr) {
      view.tls_expiry_seconds = absl::ToDoubleSeconds(tls_->not_after() - absl::UnixEpoch());
      view.tls_reload_failures = tls_->failures();
    }
    view.access_reload_failures = access_reload_failures_;
    view.reload_failures = reload_failures_;
    if (const std::int64_t since = reload_refused_; since != 0) {
      view.reload_refused = absl::FromUnixNanos(since);
    }
    view.call_lines_dropped = call_lines_.dropped();
    if (spans_) view.spans = {spans_->figures().sent, spans_->figures().dropped};
    view.named_decisions = decisions_->figures();
    const auto show = [&](const char* listener, const std::optional<ConnectionStats>& stats) {
      if (stats) view.connections.emplace(listener, *stats);
      view.leaves_out_descriptors |= !stats;
    };
    show("listen", grpc_->connections());
    if (admin_listener_ != nullptr) show("admin_listen", admin_listener_->connections());
    if (api_ != nullptr) show("api_listen", api_->connections());
    // Pages are asked for before Listen has returned.
    if (const PageServer* const pages = paging_.load(); pages != nullptr) {
      show("http_listen", pages->connections());
    }
    ages_.See(view.models, clock_.Now());
    refusals_.See(view.models, clock_.Now());
    return view;
  }

  ServerSpec spec_;
  const Clock& clock_;
  const ShowToken show_token_;
  const absl::Time started_;
  std::atomic<bool> opened_ = false;
  std::atomic<bool> draining_ = false;
  std::atomic<GrpcServer*> serving_ = nullptr;
  std::atomic<AdminListener*> administering_ = nullptr;
  std::atomic<PageServer*> paging_ = nullptr;
  std::atomic<std::int64_t> access_reload_failures_ = 0;
  std::atomic<std::int64_t> reload_failures_ = 0;
  std::atomic<std::int64_t> reload_refused_ = 0;  // Unix ns, since when; 0: the last took all
  Metrics metrics_;
  CallLines call_lines_{clock_};
  std::optional<SpanQueue> spans_;
  std::optional<SpanSender> span_sender_;
  History history_;
  PosteriorAges ages_;
  ConnectionWatch connection_watch_{[](const std::string& line) { spdlog::warn("{}", line); }};
  RefusalWatch refusals_{[](bool ended, const std::string& line) {
    ended ? spdlog::info("{}", line) : spdlog::warn("{}", line);
  }};
  absl::Time recover_at_ = absl::InfinitePast();  // of Tick's thread
  std::unique_ptr<DataDirLock> lock_;
  std::unique_ptr<Peers> peers_;  // null: it serves its models alone
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<TokenKeys> keys_;
  std::unique_ptr<TokenCodec> tokens_;
  std::unique_ptr<AnswerKeys> answer_keys_;
  std::unique_ptr<DecisionIndex> decisions_;
  std::unique_ptr<RecommenderHandlers> recommender_;
  std::shared_ptr<TlsReloader> tls_;        // null: plaintext
  std::unique_ptr<Gatekeeper> gatekeeper_;  // null: every caller has every role
  HandedCalls handed_calls_;                // from the HTTP listeners to admin_
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<AdminListener> admin_listener_;  // null: Admin is on grpc_
  std::unique_ptr<AdminApi> admin_api_;            // of admin_listener_
  std::unique_ptr<ApiServer> api_;                 // null: no HTTP API
  std::unique_ptr<PageServer> http_;
  std::future<void> recovery_;  // of Tick's thread
};

}  // namespace

absl::StatusOr<std::vector<AbsentModel>> Server::Try(ServerSpec spec, const Clock& clock) {
  return RunningServer(std::move(spec), clock, [](std::string_view) {}).Try();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerSpec spec, const Clock& clock,
                                                      ShowToken show_token) {
  auto server = std::make_unique<RunningServer>(std::move(spec), clock, std::move(show_token));
  BANDANA_RETURN_IF_ERROR(server->Open());
  return server;
}

}  // namespace bandana::server
