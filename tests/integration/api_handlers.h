// Handlers that a test of the HTTP API scripts: they keep what they were asked.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/service/transport/handlers.h"

namespace bandana::testing {

// Select ranks the arms of a request in their order, the first with propensity 0.75; a baseline is
// chosen alone. Reports and activations are APPLIED where a Select had their decision_id, or where
// they have a token. Threads: safe.
class ApiHandlers final : public server::Handlers {
 public:
  v1::GetModelResponse model;  // what GetModel says, but for the name. Set before calls come
  std::function<absl::Status(const v1::SelectRequest&)> on_select;  // may be null
  bool keeps_unrecorded = false;                    // reports of the model `unrecorded`
  std::function<void(std::function<void()>)> hold;  // of reports; null: they are answered at once

  std::vector<v1::SelectRequest> selects() const { return Copy(selects_); }
  std::vector<v1::ReportRequest> reports() const { return Copy(reports_); }
  std::vector<v1::ActivateRequest> activations() const { return Copy(activations_); }

  absl::Status GetModel(const v1::GetModelRequest& request,
                        v1::GetModelResponse& response) override {
    response = model;
    response.set_model(request.model());
    return absl::OkStatus();
  }
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override {
    if (on_select) {
      if (absl::Status status = on_select(request); !status.ok()) return status;
    }
    const std::lock_guard lock(mutex_);
    selects_.push_back(request);
    ids_.insert(request.decision_id());
    const int arms = request.arms().has_named_arms()
                         ? request.arms().named_arms().arms_size()
                         : request.arms().inline_arms().features_size() /
                               std::max<int>(1, static_cast<int>(model.dimension()));
    const int first = request.has_baseline() ? static_cast<int>(request.baseline()) : 0;
    const int top_k = std::max<int>(1, static_cast<int>(request.top_k()));
    for (int i = 0; i < arms && response.positions_size() < top_k; ++i) {
      response.add_positions(static_cast<std::uint32_t>((first + i) % arms));
      response.add_propensities(i == 0 ? 0.75 : 0.25 / (arms - 1));
    }
    response.set_token("token");
    response.set_posterior_version(7);
    return absl::OkStatus();
  }
  absl::Status BatchSelect(const v1::BatchSelectRequest& request,
                           v1::BatchSelectResponse& response) override {
    for (const v1::SelectRequest& one : request.decisions()) {
      absl::Status status = Select(one, *response.add_results()->mutable_selection());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  absl::Status GetPosterior(const v1::GetPosteriorRequest&,
                            v1::GetPosteriorResponse& response) override {
    response.set_version(7);
    return absl::OkStatus();
  }
  absl::Status GetArmEffects(const v1::GetArmEffectsRequest&,
                             v1::GetArmEffectsResponse& response) override {
    response.set_version(7);
    return absl::OkStatus();
  }
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              server::Finish finish) override {
    {
      const std::lock_guard lock(mutex_);
      reports_.push_back(request);
      for (const v1::Outcome& outcome : request.outcomes()) {
        Known(outcome.decision_id().empty() || ids_.contains(outcome.decision_id()),
              *response.add_results());
      }
    }
    if (!hold) return finish(absl::OkStatus());
    hold([finish = std::move(finish)] { finish(absl::OkStatus()); });
  }
  void Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                server::Finish finish) override {
    {
      const std::lock_guard lock(mutex_);
      activations_.push_back(request);
      for (const std::string& id : request.decision_ids()) {
        Known(ids_.contains(id), *response.add_results());
      }
    }
    finish(absl::OkStatus());
  }
  void Submit(const v1::SubmitRequest&, v1::SubmitResponse&, server::Finish finish) override {
    finish(absl::OkStatus());
  }
  bool KeepsCallUnrecorded(std::string_view name, std::string_view policy_hash) override {
    return policy_hash == "former" || KeepsReportsUnrecorded(name);
  }
  bool KeepsReportsUnrecorded(std::string_view name) override {
    return keeps_unrecorded && (name.empty() || name == "unrecorded");
  }
  server::Serving ServingOf(std::string_view) override { return server::Serving::kServing; }

 private:
  static void Known(bool known, v1::OutcomeResult& result) {
    result.set_code(known ? v1::APPLIED : v1::REJECTED);
    if (!known) result.set_reason(v1::TOKEN_INVALID);
  }
  template <typename T>
  std::vector<T> Copy(const std::vector<T>& from) const {
    const std::lock_guard lock(mutex_);
    return from;
  }

  mutable std::mutex mutex_;
  std::vector<v1::SelectRequest> selects_;
  std::vector<v1::ReportRequest> reports_;
  std::vector<v1::ActivateRequest> activations_;
  std::set<std::string> ids_;
};

}  // namespace bandana::testing
