#include "server/api/personalizer.h"

#include <array>
#include <functional>
#include <utility>

#include "absl/strings/str_split.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/design/mode_limits.h"
#include "common/design/wire_messages.h"
#include "common/promise/mode.h"
#include "server/api/answers.h"
#include "server/api/raw_rewards.h"
#include "server/api/routes.h"
#include "server/service/access/capability.h"
#include "server/service/tokens/random_buffer.h"
#include "server/service/transport/error_text.h"

namespace bandana::server {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kRoot = "/personalizer/";
constexpr std::string_view kSelect = "bandana.v1.Recommender/Select";
constexpr std::string_view kReport = "bandana.v1.Recommender/Report";
constexpr std::string_view kActivate = "bandana.v1.Recommender/Activate";
constexpr std::string_view kGetModel = "bandana.v1.Recommender/GetModel";
constexpr std::size_t kDeferredEventsMax = 1 << 16;

// Personalizer's names of errors; its gateway's where a call did not come in.
std::string_view ErrorName(int status) {
  if (status == 401) return "Unauthorized";
  if (status == 403) return "Forbidden";
  if (status == 404) return "ResourceNotFound";
  if (status == 409) return "Conflict";
  if (status == 429) return "TooManyRequests";
  return status < 500 ? "BadRequest" : "InternalServerError";
}

HttpAnswer PersonalizerError(const CallEnd& end, int status) {
  OrderedJson body;
  body["error"]["code"] = std::string(ErrorName(status));
  body["error"]["message"] = TextForPeer(end.status.message());
  HttpAnswer answer = JsonAnswer(status, body.dump());
  AddCallHeaders(end, answer);
  return answer;
}
HttpAnswer PersonalizerError(const CallEnd& end) {
  return PersonalizerError(end, HttpStatusOf(end.status.code()));
}

absl::StatusOr<std::string> NewEventId() {
  std::array<std::byte, 16> bytes{};
  BANDANA_RETURN_IF_ERROR(FillRandom(bytes));
  return ToHex(bytes);
}

// Empty: the call is answered as Personalizer would, 204. A reward that comes late or again is
// ignored there.
absl::Status StatusOf(const v1::OutcomeResult& result) {
  if (result.code() != v1::REJECTED) return absl::OkStatus();
  const v1::RejectReason why = result.reason();
  if (why == v1::DECISION_UNKNOWN || why == v1::TOKEN_INVALID || why == v1::TOKEN_FOREIGN) {
    return NotFound("eventId: no event of this caller has it, or it is forgotten by now");
  }
  return InvalidArgument("the event was refused: ", v1::RejectReason_Name(why));
}

template <typename Response>
absl::Status StatusOfAll(const Response& response) {
  for (const v1::OutcomeResult& result : response.results()) {
    BANDANA_RETURN_IF_ERROR(StatusOf(result));
  }
  return absl::OkStatus();
}

}  // namespace

struct Personalizer::Target {
  Work work = nullptr;
  std::string event_id;
  bool with_slots = false;
};

struct Personalizer::Ranking {
  std::shared_ptr<ApiCall> call;
  AnswerHttp answer;
  std::string model;
  v1::GetModelResponse description;
  RankCall rank;
  std::vector<std::string> shown;  // actions of the slots so far
  std::size_t slot = 0;
  OrderedJson slots = OrderedJson::array();
};

Personalizer::Personalizer(PersonalizerSettings settings, ApiCalls& calls)
    : settings_(std::move(settings)), calls_(calls), deferred_slots_(kDeferredEventsMax) {}

bool Personalizer::Has(std::string_view path) { return path.starts_with(kRoot); }

HttpAnswer Personalizer::Refused(const absl::Status& why, int status) {
  return PersonalizerError({.status = why}, status);
}

std::optional<Personalizer::Target> Personalizer::Find(const HttpCall& http,
                                                       std::string_view& allowed) {
  struct Row {
    std::string_view path;  // behind the version; `*` is an event's id
    std::string_view method;
    Work work;
    bool with_slots = false;
  };
  static constexpr Row kRows[] = {
      {"rank", "POST", &Personalizer::Rank},
      {"events/*/reward", "POST", &Personalizer::Reward},
      {"events/*/activate", "POST", &Personalizer::Activate},
      {"multislot/rank", "POST", &Personalizer::Rank, true},
      {"multislot/events/*/reward", "POST", &Personalizer::Reward, true},
      {"multislot/events/*/activate", "POST", &Personalizer::Activate, true},
      {"configurations/service", "GET", &Personalizer::Service},
  };
  const std::string_view path = std::string_view(http.path).substr(kRoot.size());
  const std::vector<std::string> parts = absl::StrSplit(ToAbsl(path), '/');
  if (parts.empty() || (parts[0] != "v1.0" && parts[0] != "v1.1-preview.3")) return std::nullopt;
  for (const Row& row : kRows) {
    const std::vector<std::string> named = absl::StrSplit(ToAbsl(row.path), '/');
    if (named.size() + 1 != parts.size()) continue;
    Target target{.work = row.work, .with_slots = row.with_slots};
    bool fits = true;
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (named[i] != "*") {
        fits &= named[i] == parts[i + 1];
        continue;
      }
      const std::optional<std::string> id = Unescaped(parts[i + 1]);
      fits &= id.has_value() && !id->empty() && id->size() <= kEventIdBytesMax;
      if (id) target.event_id = *id;
    }
    if (!fits) continue;
    allowed = row.method;
    if (row.method == http.method) return target;
  }
  return std::nullopt;
}

void Personalizer::Handle(const HttpCall& http, AnswerHttp answer) {
  std::string_view allowed;
  const std::optional<Target> target = Find(http, allowed);
  if (target) return (this->*target->work)(http, *target, std::move(answer));
  if (allowed.empty()) {
    return answer(Refused(NotFound("Personalizer's other resources (policy, evaluations, logs, "
                                   "model) are not served here: docs/http.md"),
                          404));
  }
  HttpAnswer refused = Refused(NotFound("this path takes another method"), 405);
  refused.headers.push_back({"allow", std::string(allowed)});
  answer(std::move(refused));
}

std::shared_ptr<ApiCall> Personalizer::Begin(const HttpCall& http, std::string_view name,
                                             const AnswerHttp& answer) {
  const Rpc& rpc = RpcNamed(name);
  const std::string key = "Bearer " + std::string(http.Header("ocp-apim-subscription-key"));
  Credentials credentials;
  if (key.size() > sizeof "Bearer " - 1) credentials.authorization.emplace_back(key);
  for (const HttpHeader& header : http.headers) {
    if (header.name == "authorization") credentials.authorization.emplace_back(header.value);
  }
  for (const std::string& subject : http.subjects) credentials.subjects.emplace_back(subject);
  std::shared_ptr<ApiCall> call = calls_.Begin(rpc, http, settings_.model, credentials);
  if (call->status().ok()) return call;
  answer(PersonalizerError(call->End(call->status())));
  return nullptr;
}

absl::StatusOr<std::string> Personalizer::ModelOf(const Caller& caller) const {
  std::string model = settings_.model;
  if (model.empty() && caller.principal != nullptr && caller.principal->models.size() == 1) {
    model = caller.principal->models.front();
  }
  if (model.empty()) {
    return InvalidArgument(
        "no model: set api.personalizer.model, or bind the caller's principal to one model");
  }
  BANDANA_RETURN_IF_ERROR(AuthorizeModel(caller, model));
  return model;
}

absl::StatusOr<v1::GetModelResponse> Personalizer::Describe(const std::string& model) const {
  v1::GetModelRequest request;
  v1::GetModelResponse description;
  request.set_model(model);
  BANDANA_RETURN_IF_ERROR(calls_.handlers().GetModel(request, description));
  const RawRewardRule& rule = RawRewardsOf(description.mode());
  if (rule.refused.empty()) return description;
  return FailedPrecondition("model ", model, ": ", ToAbsl(rule.refused));
}

void Personalizer::Rank(const HttpCall& http, const Target& target, AnswerHttp answer) {
  auto ranking = std::make_shared<Ranking>();
  ranking->call = Begin(http, kSelect, answer);
  if (ranking->call == nullptr) return;
  ranking->answer = std::move(answer);
  const absl::Status read = [&]() -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(ranking->model, ModelOf(ranking->call->caller()));
    BANDANA_ASSIGN_OR_RETURN(ranking->description, Describe(ranking->model));
    const RawRewardRule& rule = RawRewardsOf(ranking->description.mode());
    BANDANA_ASSIGN_OR_RETURN(ranking->rank,
                             ParseRank(http.body, target.with_slots,
                                       HidesContexts(FromProto(ranking->description.mode()))));
    if (target.with_slots && !rule.no_slots.empty()) {
      return FailedPrecondition(ToAbsl(rule.no_slots));
    }
    if (ranking->rank.event_id.empty()) {
      BANDANA_ASSIGN_OR_RETURN(ranking->rank.event_id, NewEventId());
    } else if (const auto why = LimitsOf(FromProto(ranking->description.mode())).plain_names;
               !why.empty()) {
      // Others become digests of themselves, which look random and are not.
      BANDANA_RETURN_IF_ERROR(CheckCapability("eventId", ranking->rank.event_id, why));
    }
    return absl::OkStatus();
  }();
  if (!read.ok()) return ranking->answer(PersonalizerError(ranking->call->End(read)));
  RankNext(ranking);
}

// Slots are filled one after the other, each from what those before have left.
void Personalizer::RankNext(const std::shared_ptr<Ranking>& ranking) {
  const RankCall& rank = ranking->rank;
  RankPart part{.decision_id = DecisionIdOf(rank.event_id)};
  std::vector<std::string> excluded = ranking->shown;
  std::string baseline;
  if (!rank.slots.empty()) {
    part.slot = &rank.slots[ranking->slot];
    part.decision_id = DecisionIdOf(rank.event_id, part.slot->id);
    excluded.insert(excluded.end(), part.slot->excluded.begin(), part.slot->excluded.end());
    baseline = part.slot->baseline;
  }
  part.offered = Offered(rank, excluded);
  if (settings_.apprentice) {
    part.baseline = 0;
    for (std::uint32_t i = 0; i < part.offered.size(); ++i) {
      if (rank.actions[part.offered[i]].id == baseline) part.baseline = i;
    }
  }
  absl::StatusOr<v1::SelectRequest> request = DecisionOf(rank, part, ranking->description);
  if (!request.ok())
    return ranking->answer(PersonalizerError(ranking->call->End(request.status())));
  request->set_model(ranking->model);
  const std::shared_ptr<Exchange> exchange = RpcNamed(kSelect).make_exchange();
  static_cast<v1::SelectRequest&>(exchange->request()) = *std::move(request);
  ranking->call->Run(exchange, [this, ranking, exchange, part](const absl::Status& status) {
    if (!status.ok()) return ranking->answer(PersonalizerError(ranking->call->End(status)));
    const auto& selection = static_cast<const v1::SelectResponse&>(exchange->response());
    if (selection.positions().empty() || selection.positions(0) >= part.offered.size()) {
      return ranking->answer(PersonalizerError(ranking->call->End(
          FailedPrecondition("model ", ranking->model, " chooses no arms of a list"))));
    }
    const RankCall& rank = ranking->rank;
    const std::string& best = rank.actions[part.offered[selection.positions(0)]].id;
    OrderedJson body;
    body["eventId"] = rank.event_id;
    if (part.slot == nullptr) {
      body["ranking"] = RankingOf(rank, part, selection);
      body["rewardActionId"] = best;
    } else {
      ranking->slots.push_back({{"id", part.slot->id}, {"rewardActionId", best}});
      ranking->shown.push_back(best);
      if (++ranking->slot < rank.slots.size()) return RankNext(ranking);
      body["slots"] = ranking->slots;
      if (rank.deferred) {
        std::vector<std::string> ids;
        for (const RankSlot& slot : rank.slots) ids.push_back(DecisionIdOf(rank.event_id, slot.id));
        const Principal* const principal = ranking->call->caller().principal;
        const std::lock_guard lock(mutex_);
        deferred_slots_.Put(absl::StrCat(ranking->model, "\n", rank.event_id, "\n",
                                         principal == nullptr ? "" : principal->name),
                            std::move(ids));
      }
    }
    const CallEnd end = ranking->call->End(absl::OkStatus());
    HttpAnswer out = JsonAnswer(201, body.dump());
    AddCallHeaders(end, out);
    ranking->answer(std::move(out));
  });
}

void Personalizer::Reward(const HttpCall& http, const Target& target, AnswerHttp answer) {
  const std::shared_ptr<ApiCall> call = Begin(http, kReport, answer);
  if (call == nullptr) return;
  const std::shared_ptr<Exchange> exchange = RpcNamed(kReport).make_exchange();
  const absl::Status read = [&]() -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const std::string model, ModelOf(call->caller()));
    BANDANA_ASSIGN_OR_RETURN(const v1::GetModelResponse description, Describe(model));
    BANDANA_ASSIGN_OR_RETURN(
        const std::vector<SlotReward> rewards,
        ParseRewards(http.body, target.with_slots, RawRewardsOf(description.mode()).any_counts));
    auto& request = static_cast<v1::ReportRequest&>(exchange->request());
    request.set_model(model);
    for (const SlotReward& reward : rewards) {
      v1::Outcome& outcome = *request.add_outcomes();
      outcome.set_decision_id(target.with_slots ? DecisionIdOf(target.event_id, reward.slot_id)
                                                : DecisionIdOf(target.event_id));
      if (reward.reward) outcome.set_reward(*reward.reward);
    }
    return absl::OkStatus();
  }();
  if (!read.ok()) return answer(PersonalizerError(call->End(read)));
  call->Run(exchange, [call, exchange, answer = std::move(answer)](const absl::Status& status) {
    absl::Status whole = status;
    if (whole.ok()) {
      whole = StatusOfAll(static_cast<const v1::ReportResponse&>(exchange->response()));
    }
    const CallEnd end = call->End(status);
    answer(whole.ok() ? HttpAnswer{.status = 204}
                      : PersonalizerError({.status = whole,
                                           .request_id = end.request_id,
                                           .retry_after = end.retry_after}));
  });
}

void Personalizer::Activate(const HttpCall& http, const Target& target, AnswerHttp answer) {
  const std::shared_ptr<ApiCall> call = Begin(http, kActivate, answer);
  if (call == nullptr) return;
  const std::shared_ptr<Exchange> exchange = RpcNamed(kActivate).make_exchange();
  const absl::Status read = [&]() -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(const std::string model, ModelOf(call->caller()));
    BANDANA_RETURN_IF_ERROR(Describe(model).status());
    auto& request = static_cast<v1::ActivateRequest&>(exchange->request());
    request.set_model(model);
    if (!target.with_slots) {
      request.add_decision_ids(DecisionIdOf(target.event_id));
      return absl::OkStatus();
    }
    const Principal* const principal = call->caller().principal;
    const std::lock_guard lock(mutex_);
    const std::vector<std::string>* const ids = deferred_slots_.Find(absl::StrCat(
        model, "\n", target.event_id, "\n", principal == nullptr ? "" : principal->name));
    if (ids == nullptr) {
      return NotFound(
          "eventId: no event of this caller that was deferred has it, or it is "
          "forgotten by now");
    }
    for (const std::string& id : *ids) request.add_decision_ids(id);
    return absl::OkStatus();
  }();
  if (!read.ok()) return answer(PersonalizerError(call->End(read)));
  call->Run(exchange, [call, exchange, answer = std::move(answer)](const absl::Status& status) {
    absl::Status whole = status;
    if (whole.ok()) {
      whole = StatusOfAll(static_cast<const v1::ActivateResponse&>(exchange->response()));
    }
    const CallEnd end = call->End(status);
    answer(whole.ok() ? HttpAnswer{.status = 204}
                      : PersonalizerError({.status = whole,
                                           .request_id = end.request_id,
                                           .retry_after = end.retry_after}));
  });
}

// The settings of the loop in Personalizer's terms, as far as they have a meaning here.
// NOLINTNEXTLINE(performance-unnecessary-value-param): it has the form of every call.
void Personalizer::Service(const HttpCall& http, const Target&, AnswerHttp answer) {
  const std::shared_ptr<ApiCall> call = Begin(http, kGetModel, answer);
  if (call == nullptr) return;
  const absl::StatusOr<std::string> model = ModelOf(call->caller());
  const absl::StatusOr<v1::GetModelResponse> described =
      model.ok() ? Describe(*model) : model.status();
  const CallEnd end = call->End(described.status());
  if (!described.ok()) return answer(PersonalizerError(end));
  OrderedJson body = {{"rewardAggregation", "earliest"},
                      {"learningMode", settings_.apprentice ? "Apprentice" : "Online"}};
  if (described->reporting().has_reward_window()) {
    const v1::RewardWindow& window = described->reporting().reward_window();
    body["defaultReward"] = window.default_reward();
    const double seconds = static_cast<double>(window.duration().seconds()) +
                           1e-9 * static_cast<double>(window.duration().nanos());
    body["rewardWaitTime"] = absl::StrCat("PT", seconds, "S");
  }
  answer(JsonAnswer(200, body.dump()));
}

}  // namespace bandana::server
