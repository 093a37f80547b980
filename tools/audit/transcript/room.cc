#include "tools/audit/transcript/room.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/design/privacy_rules.h"
#include "common/random/bit_source.h"
#include "server/models/folder/noise_key_file.h"
#include "server/ops/observation/call_lines.h"
#include "server/ops/observation/model_page.h"
#include "server/ops/observation/status_page.h"
#include "server/service/answer_keys_of_tokens.h"
#include "server/service/transport/call_log.h"

namespace bandana::audit {

class OneModel final : public server::ModelRegistry {
 public:
  explicit OneModel(std::shared_ptr<server::HostedModel> model) : model_(std::move(model)) {}

  std::shared_ptr<server::HostedModel> Find(std::string_view name) const override {
    return name == model_->spec().public_spec.name ? model_ : nullptr;
  }
  std::vector<std::shared_ptr<server::HostedModel>> List() const override { return {model_}; }
  absl::Status AddConfigured(ModelSpec) override { return Refused(); }
  std::vector<server::AbsentModel> Configure(std::vector<ModelSpec>) override { return {}; }
  absl::StatusOr<std::shared_ptr<server::HostedModel>> Update(ModelSpec) override {
    return Refused();
  }
  absl::StatusOr<std::shared_ptr<server::HostedModel>> Create(ModelSpec) override {
    return Refused();
  }
  absl::Status CheckImport(std::string_view, const v1::ExportHeader&) override { return Refused(); }
  absl::StatusOr<TempFile> NewImportFile() override { return Refused(); }
  absl::StatusOr<std::shared_ptr<server::HostedModel>> Import(std::string_view, std::string_view,
                                                              const v1::ExportHeader*) override {
    return Refused();
  }
  absl::Status Delete(std::string_view) override { return Refused(); }

  server::HostedModel& model() { return *model_; }

 private:
  static absl::Status Refused() { return FailedPrecondition("the audit's server has one model"); }
  const std::shared_ptr<server::HostedModel> model_;
};

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
Room::~Room() = default;

absl::Status Room::Start() {
  BANDANA_RETURN_IF_ERROR(MakeFolders(options_.folder));
  server::TokenKeys::Options keys;
  keys.file = options_.folder + "/token_keys";
  keys.poll_interval = absl::ZeroDuration();
  BANDANA_ASSIGN_OR_RETURN(keys_, server::TokenKeys::Open(keys, *options_.clock));
  tokens_ = std::make_unique<server::TokenCodec>(*keys_);
  answer_keys_ = std::make_unique<server::AnswerKeysOfTokens>(*keys_);
  server::HostedModelOptions model_options;
  model_options.stepped = true;
  model_options.noise_binding = options_.binding;
  BANDANA_ASSIGN_OR_RETURN(model_options.noise_key,
                           server::OpenNoiseKey(options_.folder, SystemBits()));
  BANDANA_ASSIGN_OR_RETURN(
      auto model, server::HostedModel::Open(*options_.spec, options_.folder + "/m", *options_.clock,
                                            model_options));
  if (options_.mutant != nullptr && options_.mutant->wrap) {
    model = options_.mutant->wrap(std::move(model));
  }
  models_ = std::make_unique<OneModel>(std::move(model));
  BANDANA_ASSIGN_OR_RETURN(
      book_, server::DecisionBook::Open({.path = options_.folder + "/decisions.sqlite",
                                         .keys = answer_keys_.get(),
                                         .stepped = true},
                                        *options_.clock));
  recommender_ = server::MakeRecommender(server::RecommenderOptions{}, *models_, *tokens_,
                                         *options_.clock, book_.get());
  BANDANA_RETURN_IF_ERROR(PutArms());
  Step();
  return absl::OkStatus();
}

absl::Status Room::PutArms() {
  const int arms = options_.catalogue_arms;
  if (arms == 0 || model().catalogue()->size() > 0) return absl::OkStatus();
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
  return model().PutArms(put, &response);
}

server::HostedModel& Room::model() { return models_->model(); }

void Room::Step() { model().Step(); }

template <typename Request, typename Response>
void Room::Call(const Request& request, std::function<void(absl::Status, Response&)> done) {
  auto response = std::make_shared<Response>();
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
    finish(Handle(*recommender_, request, *response));
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

// What the transport does with an answered call (server/service/transport/transport.cc).
void Room::Count(const server::Rpc& rpc, const absl::Status& status) {
  const bool mutant = options_.mutant != nullptr && options_.mutant->observes_hushed_calls;
  if (rpc.hushable && recommender_->HushesReports("m") && !mutant) return;
  const int code = status.raw_code();
  metrics_.OnStart(rpc, kWait);
  metrics_.OnCall(rpc, code, kWait + kWork);
  if (!server::HasLine(code, kWait + kWork)) return;
  server::CallRecord record;
  record.method = rpc.method();
  record.caller = "anonymous";
  record.status_code = code;
  record.duration = kWait + kWork;
  record.request_id = absl::StrCat(++lines_);
  recorder_.Text(Observer::kOthers, "call log", server::CallLine(record));
}

server::ServerView Room::View() {
  server::ServerView view;
  view.version = "audit";
  view.started = started_;
  view.models = server::ViewModels(*models_);
  ages_.See(view.models, options_.clock->Now());
  return view;
}

void Room::RecordReadings() {
  recorder_.Message(Observer::kOthers, "GetStats", model().Stats());
  recorder_.Message(Observer::kOthers, "GetLedger", model().Ledger());
  recorder_.Number(Observer::kOthers, "log queue", model().log_queue());
  recorder_.Text(Observer::kOthers, "health",
                 absl::StrCat(model().Health().ToString(), " serving ",
                              static_cast<int>(recommender_->ServingOf("m"))));
  const server::ServerView view = View();
  metrics_.Tick(view);
  history_.Tick(view, metrics_.Totals(), 0, options_.clock->Now());
}

void Room::RecordPages() {
  const server::ServerView view = View();
  recorder_.Lines(Observer::kOthers, "metrics", metrics_.Render(view, {}));
  recorder_.Lines(
      Observer::kOthers, "status page",
      server::StatusPage(view, history_.Recent(), history_.Hour(), options_.clock->Now()));
  for (const server::ModelView& model : view.models) {
    recorder_.Lines(
        Observer::kOthers, "model page",
        server::ModelPage(model, history_.Recent(), history_.Hour(), options_.clock->Now()));
  }
  const auto exported = model().Export();
  recorder_.Text(Observer::kOthers, "Export",
                 exported.ok() ? *exported : exported.status().ToString());
}

}  // namespace bandana::audit
