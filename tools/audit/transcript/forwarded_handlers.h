// Handlers that pass every call on: what mutants of a listener derive from.
#pragma once

#include <string_view>
#include <utility>

#include "server/service/transport/handlers.h"

namespace bandana::audit {

class ForwardedHandlers : public server::Handlers {
 public:
  // `to` must outlive it.
  explicit ForwardedHandlers(server::Handlers& to) : to_(to) {}

  absl::Status GetModel(const v1::GetModelRequest& request,
                        v1::GetModelResponse& response) override {
    return to_.GetModel(request, response);
  }
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override {
    return to_.Select(request, response);
  }
  absl::Status BatchSelect(const v1::BatchSelectRequest& request,
                           v1::BatchSelectResponse& response) override {
    return to_.BatchSelect(request, response);
  }
  absl::Status GetPosterior(const v1::GetPosteriorRequest& request,
                            v1::GetPosteriorResponse& response) override {
    return to_.GetPosterior(request, response);
  }
  absl::Status GetArmEffects(const v1::GetArmEffectsRequest& request,
                             v1::GetArmEffectsResponse& response) override {
    return to_.GetArmEffects(request, response);
  }
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              server::Finish finish) override {
    to_.Report(request, response, std::move(finish));
  }
  void Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                server::Finish finish) override {
    to_.Activate(request, response, std::move(finish));
  }
  void Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
              server::Finish finish) override {
    to_.Submit(request, response, std::move(finish));
  }
  bool KeepsReportsUnrecorded(std::string_view model) override {
    return to_.KeepsReportsUnrecorded(model);
  }
  bool KeepsCallUnrecorded(std::string_view model, std::string_view policy_hash) override {
    return to_.KeepsCallUnrecorded(model, policy_hash);
  }
  server::Serving ServingOf(std::string_view service) override { return to_.ServingOf(service); }

 protected:
  server::Handlers& to() { return to_; }

 private:
  server::Handlers& to_;
};

}  // namespace bandana::audit
