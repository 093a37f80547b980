#include "tools/audit/transcript/room.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/design/privacy_rules.h"
#include "server/models/aliases/named.h"
#include "server/ops/observation/call_lines.h"
#include "server/ops/observation/model_page.h"
#include "server/ops/observation/status_page.h"
#include "server/service/answer_keys_of_tokens.h"
#include "server/service/transport/call_log.h"
#include "tools/audit/transcript/http_caller.h"

namespace bandana::audit {

namespace {

// How long a call waits and takes: whatever the machine does, the same in both worlds.
constexpr absl::Duration kWait = absl::Microseconds(30);
constexpr absl::Duration kWork = absl::Microseconds(300);

// The rpc whose request this is: messages are named after their rpc.
const server::Rpc& RpcOf(const google::protobuf::Message& request) {
  const std::string& message = request.GetDescriptor()->name();
  return server::RpcNamed(
      absl::StrCat("bandana.v1.Recommender/", message.substr(0, message.rfind("Request"))));
}

absl::Status Handle(server::Handlers& handlers, const v1::GetModelRequest& request,
                    v1::GetModelResponse& response) {
  return handlers.GetModel(request, response);
}
absl::Status Handle(server::Handlers& handlers, const v1::SelectRequest& request,
                    v1::SelectResponse& response) {
  return handlers.Select(request, response);
}
absl::Status Handle(server::Handlers& handlers, const v1::BatchSelectRequest& request,
                    v1::BatchSelectResponse& response) {
  return handlers.BatchSelect(request, response);
}
absl::Status Handle(server::Handlers& handlers, const v1::GetPosteriorRequest& request,
                    v1::GetPosteriorResponse& response) {
  return handlers.GetPosterior(request, response);
}
absl::Status Handle(server::Handlers& handlers, const v1::GetArmEffectsRequest& request,
                    v1::GetArmEffectsResponse& response) {
  return handlers.GetArmEffects(request, response);
}
void Handle(server::Handlers& handlers, const v1::ReportRequest& request,
            v1::ReportResponse& response, server::Finish finish) {
  handlers.Report(request, response, std::move(finish));
}
void Handle(server::Handlers& handlers, const v1::ActivateRequest& request,
            v1::ActivateResponse& response, server::Finish finish) {
  handlers.Activate(request, response, std::move(finish));
}
void Handle(server::Handlers& handlers, const v1::SubmitRequest& request,
            v1::SubmitResponse& response, server::Finish finish) {
  handlers.Submit(request, response, std::move(finish));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Room>> Room::Open(const RoomOptions& options, Recorder& recorder) {
  std::unique_ptr<Room> room(new Room(options, recorder));
  BANDANA_RETURN_IF_ERROR(room->Start());
  return room;
}

Room::Room(const RoomOptions& options, Recorder& recorder)
    : options_(options), recorder_(recorder), started_(options.clock->Now()) {}
Room::~Room() {
  if (door_ != nullptr) door_->calls().Close();
}

// What the door tells observers of its calls, with times that no machine decides.
class Room::Witness final : public server::CallObserver, public server::CallLog {
 public:
  explicit Witness(Room& room) : room_(room) {}
  void OnStart(const server::Rpc& rpc, absl::Duration /*waited*/) override {
    room_.metrics_.OnStart(rpc, kWait);
  }
  void OnCall(const server::Rpc& rpc, int code, absl::Duration /*duration*/) override {
    room_.metrics_.OnCall(rpc, code, kWait + kWork);
  }
  void Write(const server::CallRecord& record) override {
    room_.WriteLine(record.method, record.status_code);
  }

 private:
  Room& room_;
};

absl::Status Room::Start() {
  BANDANA_RETURN_IF_ERROR(MakeFolders(options_.folder));
  server::TokenKeys::Options keys;
  keys.file = options_.folder + "/token_keys";
  keys.poll_interval = absl::ZeroDuration();
  BANDANA_ASSIGN_OR_RETURN(keys_, server::TokenKeys::Open(keys, *options_.clock));
  tokens_ = std::make_unique<server::TokenCodec>(*keys_);
  BANDANA_ASSIGN_OR_RETURN(models_, OpenModels());
  answer_keys_ = std::make_unique<server::AnswerKeysOfTokens>(*keys_);
  BANDANA_ASSIGN_OR_RETURN(
      book_, server::DecisionBook::Open({.path = options_.folder + "/decisions.sqlite",
                                         .keys = answer_keys_.get(),
                                         .stepped = true},
                                        *options_.clock));
  recommender_ = server::MakeRecommender(server::RecommenderOptions{}, *models_, *tokens_,
                                         *options_.clock, book_.get());
  if (options_.by_http) {
    witness_ = std::make_unique<Witness>(*this);
    server::ApiServerOptions door;
    door.observer = witness_.get();
    door.log = witness_.get();
    door_ = std::make_unique<server::HttpApi>(door, *recommender_,
                                              [](const std::string&, server::Conduct) {});
  }
  for (const auto& model : models()) BANDANA_RETURN_IF_ERROR(PutArms(*model));
  Step();
  // Aliases are the first server's alone here.
  if (options_.by_follower && options_.other == nullptr) {
    BANDANA_ASSIGN_OR_RETURN(follower_, Follower::Open({.store = store_,
                                                        .owner = models_.get(),
                                                        .folder = options_.folder + "/follower",
                                                        .noise_key_file = NoiseKeyFile(),
                                                        .tokens = tokens_.get(),
                                                        .book = book_.get(),
                                                        .clock = options_.clock,
                                                        .binding = options_.binding}));
    follower_->Step();
  }
  return absl::OkStatus();
}

std::string Room::NoiseKeyFile() const {
  return options_.by_follower ? options_.folder + "/noise_key.hex" : "";
}

absl::StatusOr<std::unique_ptr<server::ModelRegistry>> Room::OpenModels() const {
  if (options_.by_follower) {
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(NoiseKeyFile(), std::string(64, '7'), 0600));
  }
  server::ModelRegistry::Options options{.data_dir = options_.folder,
                                         .models_max = 2,
                                         .log = store_,
                                         .noise_key_file = NoiseKeyFile(),
                                         .stepped = true};
  options.open = [options = options_](ModelSpec spec, const std::string& folder, const Clock& clock,
                                      server::HostedModelOptions model)
      -> absl::StatusOr<std::unique_ptr<server::HostedModel>> {
    model.noise_binding = options.binding;
    BANDANA_ASSIGN_OR_RETURN(auto opened,
                             server::HostedModel::Open(std::move(spec), folder, clock, model));
    if (options.mutant == nullptr || !options.mutant->wrap) return opened;
    return options.mutant->wrap(std::move(opened));
  };
  BANDANA_ASSIGN_OR_RETURN(auto models, server::ModelRegistry::Open(options, *options_.clock));
  for (const ModelSpec* const spec : {options_.spec, options_.other}) {
    if (spec != nullptr) BANDANA_RETURN_IF_ERROR(models->AddConfigured(*spec));
  }
  return models;
}

absl::Status Room::PutArms(server::HostedModel& model) const {
  const int arms = options_.catalogue_arms;
  if (arms == 0 || model.catalogue()->size() > 0) return absl::OkStatus();
  const auto dimension = static_cast<std::size_t>(options_.spec->public_spec.dimension);
  std::vector<server::CatalogueArm> put;
  put.reserve(static_cast<std::size_t>(arms));
  for (int arm = 0; arm < arms; ++arm) {
    put.push_back({.id = static_cast<std::uint32_t>(arm),
                   .features = std::vector<double>(dimension, 0.5),
                   .tags = {arm % 2 == 0 ? "even" : "odd"},
                   .groups = {{"genre", arm < 2 ? "rock" : "jazz"}}});
  }
  v1::PutArmsResponse response;
  return model.PutArms(put, &response);
}

server::HostedModel& Room::model() { return *models_->Find(options_.spec->public_spec.name); }

std::vector<std::shared_ptr<server::HostedModel>> Room::models() const { return models_->List(); }

std::optional<std::uint64_t> Room::EpochShown() const {
  const auto named = server::Resolve(*models_, options_.asked);
  if (!named.ok()) return std::nullopt;
  const auto first = named->First();
  return first.ok() ? std::optional(first->Shown(first->model->epoch())) : std::nullopt;
}

void Room::Step() {
  for (const auto& model : models()) model->Step();
  if (follower_ != nullptr) follower_->Step();
}

template <typename Request, typename Response>
void Room::Call(const Request& request, std::function<void(absl::Status, Response&)> done) {
  auto response = std::make_shared<Response>();
  if (door_ != nullptr) {
    CallByHttp(*door_, RpcOf(request), options_.asked, request, *response,
               [response, done = std::move(done)](absl::Status status) {
                 if (!status.ok()) response->Clear();
                 done(std::move(status), *response);
               });
    return Step();
  }
  const auto finish = [this, &rpc = RpcOf(request), response,
                       done = std::move(done)](const absl::Status& status) {
    Count(rpc, status);
    if (!status.ok()) response->Clear();
    done(status, *response);
  };
  if constexpr (requires { Handle(*recommender_, request, *response, finish); }) {
    auto kept = std::make_shared<Request>(request);
    Handle(*recommender_, *kept, *response,
           [kept, finish](absl::Status status) { finish(status); });
  } else {
    server::Handlers& reads = follower_ == nullptr ? *recommender_ : follower_->handlers();
    finish(Handle(reads, request, *response));
  }
  Step();
}

template void Room::Call(const v1::GetModelRequest&,
                         std::function<void(absl::Status, v1::GetModelResponse&)>);
template void Room::Call(const v1::SelectRequest&,
                         std::function<void(absl::Status, v1::SelectResponse&)>);
template void Room::Call(const v1::BatchSelectRequest&,
                         std::function<void(absl::Status, v1::BatchSelectResponse&)>);
template void Room::Call(const v1::ActivateRequest&,
                         std::function<void(absl::Status, v1::ActivateResponse&)>);
template void Room::Call(const v1::GetPosteriorRequest&,
                         std::function<void(absl::Status, v1::GetPosteriorResponse&)>);
template void Room::Call(const v1::GetArmEffectsRequest&,
                         std::function<void(absl::Status, v1::GetArmEffectsResponse&)>);
template void Room::Call(const v1::ReportRequest&,
                         std::function<void(absl::Status, v1::ReportResponse&)>);
template void Room::Call(const v1::SubmitRequest&,
                         std::function<void(absl::Status, v1::SubmitResponse&)>);

bool Room::ObservesHushed() const {
  const Mutant* const mutant = options_.mutant;
  if (mutant == nullptr) return false;
  return mutant->observes_hushed_calls ||
         (mutant->observes_calls_by_alias && models_->FindAlias(options_.asked) != nullptr);
}

// What the transport does with an answered call (server/service/transport/transport.cc).
void Room::Count(const server::Rpc& rpc, const absl::Status& status) {
  if (rpc.hushable && recommender_->HushesReports(options_.asked) && !ObservesHushed()) return;
  const int code = status.raw_code();
  metrics_.OnStart(rpc, kWait);
  metrics_.OnCall(rpc, code, kWait + kWork);
  WriteLine(rpc.method(), code);
}

void Room::WriteLine(std::string_view method, int code) {
  if (!server::HasLine(code, kWait + kWork)) return;
  server::CallRecord record;
  record.method = method;
  record.caller = "anonymous";
  record.status_code = code;
  record.duration = kWait + kWork;
  record.request_id = absl::StrCat(++lines_);
  recorder_.Text(Observer::kOthers, "call log", server::CallLine(record));
}

server::ServerView Room::View(server::ModelRegistry& registry, server::PosteriorAges& ages) {
  server::ServerView view;
  view.version = "audit";
  view.started = started_;
  view.models = server::ViewModels(registry);
  ages.See(view.models, options_.clock->Now());
  return view;
}

void Room::RecordReadingsOf(const server::HostedModel& model) {
  recorder_.Message(Observer::kOthers, "GetStats", model.Stats());
  recorder_.Message(Observer::kOthers, "GetLedger", model.Ledger());
  recorder_.Number(Observer::kOthers, "log queue", model.log_queue());
  recorder_.Text(Observer::kOthers, "health", model.Health().ToString());
}

void Room::RecordReadings() {
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
  const server::ServerView view = View(*models_, ages_);
  metrics_.Tick(view);
  history_.Tick(view, metrics_.Totals(), door_ == nullptr ? 0 : door_->calls().shown_in_flight(),
                options_.clock->Now());
}

void Room::RecordPagesOf(server::ModelRegistry& registry, server::PosteriorAges& ages) {
  const server::ServerView view = View(registry, ages);
  recorder_.Lines(Observer::kOthers, "metrics", metrics_.Render(view, {}));
  recorder_.Lines(
      Observer::kOthers, "status page",
      server::StatusPage(view, history_.Recent(), history_.Hour(), options_.clock->Now()));
  for (const server::ModelView& model : view.models) {
    recorder_.Lines(
        Observer::kOthers, "model page",
        server::ModelPage(model, history_.Recent(), history_.Hour(), options_.clock->Now()));
  }
}

void Room::RecordPages() {
  RecordPagesOf(*models_, ages_);
  if (follower_ != nullptr) RecordPagesOf(follower_->registry(), follower_ages_);
  for (const auto& model : models()) {
    const auto exported = model->Export();
    recorder_.Text(Observer::kOthers, "Export",
                   exported.ok() ? *exported : exported.status().ToString());
  }
}

}  // namespace bandana::audit
