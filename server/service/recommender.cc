#include "server/service/recommender.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/design/alias.h"
#include "common/design/wire_messages.h"
#include "server/service/activation.h"
#include "server/service/agreed_policy.h"
#include "server/service/arm_effects_page.h"
#include "server/service/forwarded_call.h"
#include "server/service/min_version.h"
#include "server/service/named_decisions.h"
#include "server/service/owners/owner_channels.h"
#include "server/service/posterior_page.h"
#include "server/service/report_targets.h"
#include "server/service/reports.h"
#include "server/service/router.h"
#include "server/service/transport/error_text.h"

namespace bandana::server {
namespace {

// Who answers a call of one user.
absl::StatusOr<ResolvedModel> ModelFor(const ModelDirectory& registry, std::string_view name,
                                       std::string_view user) {
  BANDANA_ASSIGN_OR_RETURN(const ResolvedName named, Resolve(registry, name));
  return named.Of(user);
}

// Who answers a call that may name a user.
absl::StatusOr<ResolvedModel> OnlyModelFor(const ModelDirectory& registry, std::string_view name,
                                           std::string_view user) {
  BANDANA_ASSIGN_OR_RETURN(const ResolvedName named, Resolve(registry, name));
  return user.empty() ? named.Only() : named.Of(user);
}

// Who takes the reports of a call, which names no user.
absl::StatusOr<ResolvedModel> ModelForReports(const ModelDirectory& registry,
                                              std::string_view name) {
  BANDANA_ASSIGN_OR_RETURN(const ResolvedName named, Resolve(registry, name));
  return named.First();
}

std::unique_ptr<DecisionIndex> IndexInMemory(const Clock& clock) {
  absl::StatusOr<std::unique_ptr<DecisionIndex>> decision_index = DecisionIndex::Open({}, clock);
  BANDANA_CHECK(decision_index.ok());  // it has no file
  return *std::move(decision_index);
}

// The request as the model is asked by its own name: a version that it did not name is none. Fills
// in `own` where it differs.
template <typename Request>
const Request& OwnRequest(const ResolvedModel& to, const Request& request, Request& own) {
  if (to.alias == nullptr) return request;
  own = request;
  own.set_if_newer_than(to.Own(request.if_newer_than()).value_or(0));
  return own;
}

class Recommender final : public RecommenderHandlers {
 public:
  Recommender(const RecommenderOptions& options, const ModelDirectory& registry, TokenCodec& tokens,
              const Clock& clock, DecisionIndex* decision_index, OwnerChannels* owners)
      : registry_(registry),
        tokens_(tokens),
        owners_(owners),
        own_index_(decision_index == nullptr ? IndexInMemory(clock) : nullptr),
        decision_index_(decision_index == nullptr ? *own_index_ : *decision_index),
        clock_(clock) {
    Recommender::Take(options);
  }

  void Take(const RecommenderOptions& options) override {
    arms_per_request_max_ = options.arms_per_request_max;
    batch_decisions_max_ = options.batch_decisions_max;
  }

  absl::Status GetModel(const v1::GetModelRequest& request,
                        v1::GetModelResponse& response) override;
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override;
  absl::Status BatchSelect(const v1::BatchSelectRequest& request,
                           v1::BatchSelectResponse& response) override;
  absl::Status GetPosterior(const v1::GetPosteriorRequest& request,
                            v1::GetPosteriorResponse& response) override;
  absl::Status GetArmEffects(const v1::GetArmEffectsRequest& request,
                             v1::GetArmEffectsResponse& response) override;
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              Finish finish) override;
  void Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                Finish finish) override;
  void Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
              Finish finish) override;
  bool KeepsReportsUnrecorded(std::string_view model) override;
  bool KeepsCallUnrecorded(std::string_view model, std::string_view policy_hash) override;
  // "" serves as long as the process does; a model serves while it can take reports, an alias while
  // one of its models does.
  Serving ServingOf(std::string_view service) override;

 private:
  SelectServices services() const {
    return {.registry = registry_,
            .tokens = tokens_,
            .decision_index = decision_index_,
            .arms_max = arms_per_request_max_};
  }

  // Answers `request`, or has it answered by the owner of what it names. `answer`: how it is
  // answered here.
  template <typename Request, typename Response>
  void Serve(const Request& request, Response& response, Finish finish,
             void (*answer)(ReportTargets&, const Request&, int, TokenCodec&, Response&, Finish));

  std::atomic<int> arms_per_request_max_;
  std::atomic<int> batch_decisions_max_;
  const ModelDirectory& registry_;
  TokenCodec& tokens_;
  OwnerChannels* const owners_;                     // null: nothing is handed on
  const std::unique_ptr<DecisionIndex> own_index_;  // null: another's
  DecisionIndex& decision_index_;
  const Clock& clock_;
};

absl::Status Recommender::GetModel(const v1::GetModelRequest& request,
                                   v1::GetModelResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const ResolvedName named, Resolve(registry_, request.model()));
  BANDANA_ASSIGN_OR_RETURN(const ResolvedModel to, named.First());
  const ServedModel& model = *to.model;
  response = ToProto(to.alias == nullptr ? model.spec().public_spec
                                         : Under(model.spec().public_spec, to.alias->spec.name));
  response.set_posterior_version(to.Shown(model.posterior()->version()));
  response.set_epoch(to.Shown(model.epoch()));
  return absl::OkStatus();
}

absl::Status Recommender::Select(const v1::SelectRequest& request, v1::SelectResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const ResolvedModel to,
                           ModelFor(registry_, request.model(), request.user()));
  return SelectOnce(to, request, clock_.Now(), services(), response);
}

absl::Status Recommender::BatchSelect(const v1::BatchSelectRequest& request,
                                      v1::BatchSelectResponse& response) {
  const int n = request.decisions_size();
  const int most = batch_decisions_max_;
  if (n < 1 || n > most) {
    return InvalidArgument("decisions: 1 to ", most, " in a call, got ", n);
  }
  const absl::Time now = clock_.Now();
  for (const v1::SelectRequest& decision : request.decisions()) {
    v1::SelectResult& result = *response.add_results();
    const absl::StatusOr<ResolvedModel> to = ModelFor(registry_, decision.model(), decision.user());
    const absl::Status status =
        to.ok() ? SelectOnce(*to, decision, now, services(), *result.mutable_selection())
                : to.status();
    if (status.ok()) continue;
    result.clear_selection();
    result.set_code(status.raw_code());
    result.set_message(TextForPeer(status.message()));
  }
  return absl::OkStatus();
}

absl::Status Recommender::GetPosterior(const v1::GetPosteriorRequest& request,
                                       v1::GetPosteriorResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const ResolvedModel to,
                           OnlyModelFor(registry_, request.model(), request.user()));
  BANDANA_RETURN_IF_ERROR(CheckMinVersion(to, request.min_version()));
  v1::GetPosteriorRequest own;
  BANDANA_RETURN_IF_ERROR(FillPosterior(*to.model, OwnRequest(to, request, own), response));
  response.set_version(to.Shown(response.version()));
  return absl::OkStatus();
}

absl::Status Recommender::GetArmEffects(const v1::GetArmEffectsRequest& request,
                                        v1::GetArmEffectsResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const ResolvedModel to, OnlyModelFor(registry_, request.model(), ""));
  v1::GetArmEffectsRequest own;
  BANDANA_RETURN_IF_ERROR(FillArmEffects(*to.model, OwnRequest(to, request, own), response));
  response.set_version(to.Shown(response.version()));
  return absl::OkStatus();
}

template <typename Request, typename Response>
void Recommender::Serve(const Request& request, Response& response, Finish finish,
                        void (*answer)(ReportTargets&, const Request&, int, TokenCodec&, Response&,
                                       Finish)) {
  const absl::StatusOr<ResolvedModel> first = ModelForReports(registry_, request.model());
  if (!first.ok()) return finish(first.status());
  if (absl::Status agreed = CheckPolicy(*first, request.policy_hash()); !agreed.ok()) {
    return finish(std::move(agreed));
  }
  const int most = batch_decisions_max_;
  const auto here = [&](const Request& asked, Response& out, Finish then) {
    ReportTargets to(registry_, *first, &decision_index_);
    answer(to, asked, most, tokens_, out, std::move(then));
  };
  const bool followed = first->alias == nullptr && first->model->owner().has_value();
  if (owners_ == nullptr && followed) return finish(OwnerAway());
  if (owners_ == nullptr || (first->alias == nullptr && !followed)) {
    return here(request, response, std::move(finish));
  }
  const ReportTargets to(registry_, *first, &decision_index_);
  const auto routes = Router(registry_, to, tokens_).RoutesOf(request, most);
  Forward(request, routes, *owners_, here, response, std::move(finish));
}

void Recommender::Report(const v1::ReportRequest& request, v1::ReportResponse& response,
                         Finish finish) {
  Serve(request, response, std::move(finish), ReportOutcomes);
}

void Recommender::Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                           Finish finish) {
  Serve(request, response, std::move(finish), ActivateDecisions);
}

void Recommender::Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
                         Finish finish) {
  Serve(request, response, std::move(finish), SubmitReports);
}

bool Recommender::KeepsReportsUnrecorded(std::string_view name) {
  if (name.empty()) return registry_.hides_reports();
  return registry_.HidesReportsOf(name);
}

bool Recommender::KeepsCallUnrecorded(std::string_view name, std::string_view policy_hash) {
  if (KeepsReportsUnrecorded(name)) return true;
  if (name.empty() || policy_hash.empty()) return false;
  // The decision was made under another policy, which may have promised to hide its reports: its
  // refusal is hidden as well.
  const absl::StatusOr<ResolvedModel> to = ModelForReports(registry_, name);
  return !to.ok() || !CheckPolicy(*to, policy_hash).ok();
}

Serving Recommender::ServingOf(std::string_view service) {
  if (service.empty()) return Serving::kServing;
  const absl::StatusOr<ResolvedName> named = Resolve(registry_, service);
  if (!named.ok()) {
    return absl::IsUnavailable(named.status()) ? Serving::kNotServing : Serving::kUnknownService;
  }
  const bool serves = std::ranges::any_of(named->Models(), [](const auto& model) {
    if (model == nullptr) return false;
    const absl::Status health = model->Health();
    // While its disk is full a model refuses reports; selections go on.
    return health.ok() || Passes(health);
  });
  return serves ? Serving::kServing : Serving::kNotServing;
}

}  // namespace

std::unique_ptr<RecommenderHandlers> MakeRecommender(const RecommenderOptions& options,
                                                     const ModelDirectory& registry,
                                                     TokenCodec& tokens, const Clock& clock,
                                                     DecisionIndex* decision_index,
                                                     OwnerChannels* owners) {
  return std::make_unique<Recommender>(options, registry, tokens, clock, decision_index, owners);
}

}  // namespace bandana::server
