#include "server/service/recommender.h"

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/design/event_rule.h"
#include "server/service/arm_effects_page.h"
#include "server/service/posterior_page.h"
#include "server/service/reports.h"
#include "server/service/selection.h"
#include "server/service/transport/error_text.h"

namespace bandana::server {
namespace {

absl::StatusOr<std::shared_ptr<HostedModel>> FindModel(const ModelRegistry& registry,
                                                       std::string_view name) {
  std::shared_ptr<HostedModel> model = registry.Find(name);
  if (model != nullptr) return model;
  if (name.empty()) return InvalidArgument("model: must be set");
  return AbsenceOf(registry, name);
}

class Recommender final : public RecommenderHandlers {
 public:
  Recommender(const RecommenderOptions& options, const ModelRegistry& registry, TokenCodec& tokens,
              const Clock& clock)
      : registry_(registry), tokens_(tokens), clock_(clock) {
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
  void Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
              Finish finish) override;
  bool HushesReports(std::string_view model) override;
  // "" serves as long as the process does; a model serves while it can take reports.
  Serving ServingOf(std::string_view service) override;

 private:
  std::atomic<int> arms_per_request_max_;
  std::atomic<int> batch_decisions_max_;
  const ModelRegistry& registry_;
  TokenCodec& tokens_;
  const Clock& clock_;
};

absl::Status Recommender::GetModel(const v1::GetModelRequest& request,
                                   v1::GetModelResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<HostedModel> model,
                           FindModel(registry_, request.model()));
  response = ToProto(model->spec().public_spec);
  response.set_posterior_version(model->posterior()->version());
  response.set_epoch(model->epoch());
  return absl::OkStatus();
}

absl::Status Recommender::Select(const v1::SelectRequest& request, v1::SelectResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<HostedModel> model,
                           FindModel(registry_, request.model()));
  return server::Select(*model, request, arms_per_request_max_, clock_.Now(), tokens_, response);
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
    absl::StatusOr<std::shared_ptr<HostedModel>> model = FindModel(registry_, decision.model());
    const absl::Status status = model.ok()
                                    ? server::Select(**model, decision, arms_per_request_max_, now,
                                                     tokens_, *result.mutable_selection())
                                    : model.status();
    if (status.ok()) continue;
    result.clear_selection();
    result.set_code(status.raw_code());
    result.set_message(TextForPeer(status.message()));
  }
  return absl::OkStatus();
}

absl::Status Recommender::GetPosterior(const v1::GetPosteriorRequest& request,
                                       v1::GetPosteriorResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<HostedModel> model,
                           FindModel(registry_, request.model()));
  return FillPosterior(*model, request, response);
}

absl::Status Recommender::GetArmEffects(const v1::GetArmEffectsRequest& request,
                                        v1::GetArmEffectsResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<HostedModel> model,
                           FindModel(registry_, request.model()));
  return FillArmEffects(*model, request, response);
}

void Recommender::Report(const v1::ReportRequest& request, v1::ReportResponse& response,
                         Finish finish) {
  auto model = FindModel(registry_, request.model());
  if (!model.ok()) return finish(model.status());
  ReportOutcomes(**model, request, batch_decisions_max_, tokens_, response, std::move(finish));
}

void Recommender::Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
                         Finish finish) {
  auto model = FindModel(registry_, request.model());
  if (!model.ok()) return finish(model.status());
  SubmitReports(**model, request, batch_decisions_max_, tokens_, response, std::move(finish));
}

bool Recommender::HushesReports(std::string_view name) {
  if (name.empty()) return registry_.hides_reports();
  return registry_.HidesReportsOf(name);
}

Serving Recommender::ServingOf(std::string_view service) {
  if (service.empty()) return Serving::kServing;
  const std::shared_ptr<HostedModel> model = registry_.Find(service);
  if (model == nullptr) {
    const bool absent = absl::IsUnavailable(AbsenceOf(registry_, service));
    return absent ? Serving::kNotServing : Serving::kUnknownService;
  }
  const absl::Status health = model->Health();
  // While its disk is full a model refuses reports; selections go on.
  const bool serves = health.ok() || absl::IsResourceExhausted(health);
  return serves ? Serving::kServing : Serving::kNotServing;
}

}  // namespace

std::unique_ptr<RecommenderHandlers> MakeRecommender(const RecommenderOptions& options,
                                                     const ModelRegistry& registry,
                                                     TokenCodec& tokens, const Clock& clock) {
  return std::make_unique<Recommender>(options, registry, tokens, clock);
}

}  // namespace bandana::server
