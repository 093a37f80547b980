#include "tools/audit/transcript/world_server.h"

#include <vector>

#include "common/base/file.h"
#include "common/base/status.h"
#include "server/models/aliases/resolved_name.h"
#include "server/service/answer_keys_of_tokens.h"
#include "tools/audit/transcript/forwarded_handlers.h"

namespace bandana::audit {

// The second server answers reads, the first everything else.
class WorldServer::Replicas final : public ForwardedHandlers {
 public:
  Replicas(server::Handlers& owner, Follower& follower)
      : ForwardedHandlers(owner), follower_(follower) {}
  absl::Status GetModel(const v1::GetModelRequest& request,
                        v1::GetModelResponse& response) override {
    return follower_.handlers().GetModel(request, response);
  }
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override {
    return follower_.handlers().Select(request, response);
  }
  absl::Status BatchSelect(const v1::BatchSelectRequest& request,
                           v1::BatchSelectResponse& response) override {
    return follower_.handlers().BatchSelect(request, response);
  }
  absl::Status GetPosterior(const v1::GetPosteriorRequest& request,
                            v1::GetPosteriorResponse& response) override {
    return follower_.handlers().GetPosterior(request, response);
  }
  absl::Status GetArmEffects(const v1::GetArmEffectsRequest& request,
                             v1::GetArmEffectsResponse& response) override {
    return follower_.handlers().GetArmEffects(request, response);
  }

 private:
  Follower& follower_;
};

absl::StatusOr<std::unique_ptr<WorldServer>> WorldServer::Open(const WorldServerOptions& options,
                                                               Recorder& recorder) {
  std::unique_ptr<WorldServer> server(new WorldServer(options, recorder));
  BANDANA_RETURN_IF_ERROR(server->Start());
  return server;
}

WorldServer::WorldServer(const WorldServerOptions& options, Recorder& recorder)
    : options_(options),
      recorder_(recorder),
      readings_(*options.clock, recorder),
      watches_(readings_),
      watches_of_follower_(readings_),
      started_(options.clock->Now()) {}
WorldServer::~WorldServer() = default;

absl::Status WorldServer::Start() {
  BANDANA_RETURN_IF_ERROR(MakeFolders(options_.folder));
  server::TokenKeys::Options keys;
  keys.file = options_.folder + "/token_keys";
  keys.poll_interval = absl::ZeroDuration();
  BANDANA_ASSIGN_OR_RETURN(keys_, server::TokenKeys::Open(keys, *options_.clock));
  tokens_ = std::make_unique<server::TokenCodec>(*keys_);
  BANDANA_ASSIGN_OR_RETURN(models_, OpenModels());
  answer_keys_ = std::make_unique<server::AnswerKeysOfTokens>(*keys_);
  BANDANA_ASSIGN_OR_RETURN(
      decision_index_,
      server::DecisionIndex::Open(
          {.path = options_.folder + "/decisions.sqlite",
           .keys = answer_keys_.get(),
           .stepped = true,
           .warn = [this](const std::string& message) { readings_.Warn("", message); }},
          *options_.clock));
  recommender_ = server::MakeRecommender(server::RecommenderOptions{}, *models_, *tokens_,
                                         *options_.clock, decision_index_.get());
  for (const auto& model : models()) BANDANA_RETURN_IF_ERROR(PutArms(*model));
  Step();
  // Aliases are the first server's alone here.
  if (options_.by_follower && options_.other == nullptr) {
    BANDANA_ASSIGN_OR_RETURN(follower_, Follower::Open({.store = store_,
                                                        .owner = models_.get(),
                                                        .folder = options_.folder + "/follower",
                                                        .noise_key_file = NoiseKeyFile(),
                                                        .tokens = tokens_.get(),
                                                        .decision_index = decision_index_.get(),
                                                        .clock = options_.clock,
                                                        .binding = options_.binding}));
    follower_->Step();
    replicas_ = std::make_unique<Replicas>(*recommender_, *follower_);
  }
  listeners_ = std::make_unique<Listeners>(
      ListenerOptions{.handlers = replicas_ != nullptr ? replicas_.get() : recommender_.get(),
                      .models = models_.get(),
                      .clock = options_.clock,
                      .asked = options_.asked,
                      .api = options_.api,
                      .rate = options_.rate,
                      .observer = &readings_,
                      .log = &readings_,
                      .spans = &readings_.spans(),
                      .mutant = options_.mutant});
  return absl::OkStatus();
}

std::string WorldServer::NoiseKeyFile() const {
  return options_.by_follower ? options_.folder + "/noise_key.hex" : "";
}

absl::StatusOr<std::unique_ptr<server::ModelRegistry>> WorldServer::OpenModels() {
  if (options_.by_follower) {
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(NoiseKeyFile(), std::string(64, '7'), 0600));
  }
  server::ModelRegistry::Options options{.data_dir = options_.folder,
                                         .models_max = 2,
                                         .log = store_,
                                         .noise_key_file = NoiseKeyFile(),
                                         .stepped = true};
  options.warn = [this](std::string_view model, const std::string& message) {
    readings_.Warn(model, message);
  };
  options.open = [this](ModelSpec spec, const std::string& folder, const Clock& clock,
                        server::HostedModelOptions model)
      -> absl::StatusOr<std::unique_ptr<server::ServedModel>> {
    model.noise_binding = options_.binding;
    BANDANA_ASSIGN_OR_RETURN(auto opened,
                             server::HostedModel::Open(std::move(spec), folder, clock, model));
    if (options_.mutant == nullptr || !options_.mutant->wrap) return opened;
    return options_.mutant->wrap(
        std::move(opened), [this](const std::string& message) { readings_.Warn("", message); });
  };
  BANDANA_ASSIGN_OR_RETURN(auto models, server::ModelRegistry::Open(options, *options_.clock));
  for (const ModelSpec* const spec : {options_.spec, options_.other}) {
    if (spec != nullptr) BANDANA_RETURN_IF_ERROR(models->AddConfigured(*spec));
  }
  return models;
}

absl::Status WorldServer::PutArms(server::HostedModel& model) const {
  const int arms = options_.catalogue_arms;
  if (arms == 0 || model.catalogue()->size() > 0) return absl::OkStatus();
  const auto dimension = static_cast<std::size_t>(options_.spec->public_spec.dimension);
  std::vector<server::CatalogueArm> put;
  put.reserve(static_cast<std::size_t>(arms));
  const auto& effects = options_.spec->effects;
  const bool grouped = effects && !effects->arm_groups.empty();
  for (int arm = 0; arm < arms; ++arm) {
    put.push_back({.id = static_cast<std::uint32_t>(arm),
                   .features = std::vector<double>(dimension, 0.5),
                   .tags = {arm % 2 == 0 ? "even" : "odd"},
                   .facts = {.fields = {{"price", arm}}}});
    if (grouped) put.back().groups = {{"genre", arm < 2 ? "rock" : "jazz"}};
  }
  v1::PutArmsResponse response;
  return model.PutArms(put, &response);
}

server::HostedModel& WorldServer::model() {
  return *models_->FindOwned(options_.spec->public_spec.name);
}

std::vector<std::shared_ptr<server::HostedModel>> WorldServer::models() const {
  std::vector<std::shared_ptr<server::HostedModel>> models;
  for (const auto& model : models_->List()) {
    models.push_back(models_->FindOwned(model->spec().public_spec.name));
  }
  return models;
}

std::optional<std::uint64_t> WorldServer::EpochShown() const {
  const auto named = server::Resolve(*models_, options_.asked);
  if (!named.ok()) return std::nullopt;
  const auto first = named->First();
  return first.ok() ? std::optional(first->Shown(first->model->epoch())) : std::nullopt;
}

void WorldServer::Step() {
  for (const auto& model : models()) model->Step();
  if (follower_ != nullptr) follower_->Step();
}

server::ServerView WorldServer::View(server::ModelRegistry& registry, ModelWatches& watches) {
  // The page's looks into models of effects are compared as well.
  server::ServerView view{.version = "audit",
                          .started = started_,
                          .call_lines_dropped = readings_.lines_dropped(),
                          .named_decisions = decision_index_->figures(),
                          .models = server::ViewModels(registry, {.values = 3, .model = ""})};
  listeners_->Show(view);
  watches.See(view.models, options_.clock->Now());
  if (options_.mutant != nullptr && options_.mutant->view) {
    options_.mutant->view(listeners_->traffic(), view);
  }
  return view;
}

void WorldServer::RecordReadingsOf(const server::ServedModel& model) {
  recorder_.Message(Observer::kOthers, "GetStats", model.Stats());
  recorder_.Message(Observer::kOthers, "GetLedger", model.Ledger());
  recorder_.Number(Observer::kOthers, "log queue", model.log_queue());
  recorder_.Text(Observer::kOthers, "health", model.Health().ToString());
}

void WorldServer::RecordReadings() {
  for (const auto& model : models()) RecordReadingsOf(*model);
  if (follower_ != nullptr) {
    for (const auto& model : follower_->registry().List()) RecordReadingsOf(*model);
  }
  recorder_.Number(Observer::kOthers, "serving",
                   static_cast<int>(recommender_->ServingOf(options_.asked)));
  for (const AliasSpec& alias : models_->ListAliases()) {
    recorder_.Message(Observer::kOthers, "ListAliases", ToProto(alias));
  }
  for (const std::string& trouble : models_->AliasTroubles()) {
    recorder_.Text(Observer::kOthers, "trouble of an alias", trouble);
  }
  readings_.Tick(View(*models_, watches_));
}

void WorldServer::RecordPages() {
  // Each call may have a connection, that is, a descriptor.
  const Traffic& traffic = listeners_->traffic();
  const server::ProcessStats process{
      .open_fds = static_cast<std::uint64_t>(traffic.by_grpc + traffic.by_http)};
  readings_.RecordPages(View(*models_, watches_), process);
  if (follower_ != nullptr) {
    readings_.RecordPages(View(follower_->registry(), watches_of_follower_), process);
  }
  for (const auto& model : models()) {
    const auto exported = model->Export();
    recorder_.Text(Observer::kOthers, "Export",
                   exported.ok() ? *exported : exported.status().ToString());
  }
}

}  // namespace bandana::audit
