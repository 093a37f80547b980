#include "tools/audit/transcript/visitors.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/audit/alias_moves.h"

namespace bandana::audit {
namespace {

// Windows between a deferred decision and its activation.
constexpr double kShownAfter = 0.03;

}  // namespace

Visitors::Visitors(const Scenario& scenario, const std::vector<Choice>& choices, std::string asked,
                   Timeline& timeline, Recorder& recorder)
    : scenario_(scenario),
      choices_(choices),
      asked_(std::move(asked)),
      timeline_(timeline),
      recorder_(recorder),
      tokens_(choices.size()) {}

template <typename Response, typename Request>
void Visitors::Ask(const std::string& name, const Request& request) {
  server_->Call<Request, Response>(request, [&](const absl::Status& status, Response& response) {
    recorder_.Text(Observer::kOthers, name + " status", status.ToString());
    recorder_.Message(Observer::kOthers, name, response);
  });
}

void Visitors::AskAll(const std::string& name) {
  v1::GetModelRequest model;
  model.set_model(name);
  Ask<v1::GetModelResponse>("GetModel", model);
  v1::GetPosteriorRequest posterior;
  posterior.set_model(name);
  Ask<v1::GetPosteriorResponse>("GetPosterior", posterior);
  v1::GetArmEffectsRequest arms;
  arms.set_model(name);
  Ask<v1::GetArmEffectsResponse>("GetArmEffects", arms);
}

void Visitors::Read() {
  AskAll(asked_);
  if (scenario_.aliased) {
    AskAll(kAuditedModel);
    AskAll(kOtherModel);
  }
  const Choice other{
      .user = 1, .arms = 3, .features = {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5}, .top_k = 3};
  Ask<v1::SelectResponse>("Select", RequestOf(other));
  for (const auto& model : server_->models()) {
    const auto users = model->ListUsers("", 0);
    recorder_.Text(Observer::kOthers, "ListUsers status", users.status().ToString());
    if (users.ok()) recorder_.Message(Observer::kOthers, "ListUsers", *users);
  }
  server_->RecordReadings();
}

v1::SelectRequest Visitors::RequestOf(const Choice& choice) const {
  v1::SelectRequest request;
  request.set_model(asked_);
  request.set_user(absl::StrCat(choice.user));
  Asks().Add(choice, request);
  return request;
}

void Visitors::Select(int index, const std::function<void()>& decided) {
  // Where the round differs its answer is its user's own.
  const bool compared = scenario_.differs != Differs::kRound || index != scenario_.target;
  server_->Call<v1::SelectRequest, v1::SelectResponse>(
      RequestOf(choices_[index]), [&](const absl::Status& status, v1::SelectResponse& response) {
        recorder_.Text(Observer::kOthers, "Select status", status.ToString());
        if (compared) recorder_.Message(Observer::kOthers, "Select", response);
        if (!status.ok()) return;
        if (!compared) recorder_.Differed();
        tokens_[index] =
            response.slot_tokens_size() > 0 ? response.slot_tokens(0) : response.token();
        decided();
        if (!Asks().defers()) return;
        // The application's act: at a moment that was fixed before.
        timeline_.After(scenario_.window * kShownAfter, Party::kWorld,
                        [this, index] { Activate(index); });
      });
}

void Visitors::Guess(int index) {
  Ask<v1::SelectResponse>("Select of a guesser", RequestOf(scenario_.choices[index]));
}

void Visitors::Activate(int index) {
  if (server_ == nullptr) return;
  recorder_.Now(timeline_.now());
  v1::ActivateRequest request;
  request.set_model(asked_);
  request.add_decision_ids(Asks().NameOf(choices_[index]));
  request.add_tokens(tokens_[index]);
  Ask<v1::ActivateResponse>("Activate", request);
}

void Visitors::Report(int index, const Reaction& reaction, bool is_reaction) {
  const Choice& choice = choices_[index];
  v1::ReportRequest request;
  request.set_model(asked_);
  v1::Outcome& outcome = *request.add_outcomes();
  outcome.set_decision_id(Asks().NameOf(choice));
  if (outcome.decision_id().empty()) {
    outcome.set_token(tokens_[index]);
    outcome.set_shown(static_cast<std::uint32_t>(choice.shown));
  }
  if (reaction.value) outcome.set_reward(*reaction.value);
  const bool own =
      is_reaction && index == scenario_.target && scenario_.differs == Differs::kReaction;
  server_->Call<v1::ReportRequest, v1::ReportResponse>(
      request, [this, own](const absl::Status& status, v1::ReportResponse& response) {
        if (own) {
          // Clients of Personalizer are told no more than that it was taken.
          const bool applied =
              response.results().empty() || response.results(0).code() == v1::APPLIED;
          if (status.ok() && applied) recorder_.Differed();
          return;
        }
        recorder_.Text(Observer::kOthers, "Report status", status.ToString());
        recorder_.Message(Observer::kOthers, "Report", response);
      });
}

}  // namespace bandana::audit
