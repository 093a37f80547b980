#include "client/src/delivery/model_watch.h"

#include "client/src/privacy/policy.h"
#include "common/base/status.h"

namespace bandana::device {

void ModelWatch::AskAgain(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    asking_.push_back(std::move(then));
    if (asking_.size() > 1) return;
  }
  v1::GetModelRequest request;
  request.set_model(options_.spec.name);
  transport_->GetModel(request, {.deadline = options_.deadline},
                       [this](const Answer& answer, v1::GetModelResponse& response) {
                         OnModel(answer, response);
                         std::vector<std::function<void()>> waiting;
                         {
                           const std::lock_guard lock(mutex_);
                           waiting.swap(asking_);
                         }
                         for (const auto& then : waiting) then();
                       });
}

void ModelWatch::OnModel(const Answer& answer, const v1::GetModelResponse& response) {
  if (!answer.status.ok()) return;  // the next refused report asks again
  const auto spec = ParsePublicSpec(response);
  if (spec.ok() && spec->PolicyHash() == options_.spec.PolicyHash()) {
    epoch_ = response.epoch();
    return;
  }
  absl::Status reason = spec.status();
  if (reason.ok()) reason = CheckPolicy(*spec, options_.policy);
  pending_->Refuse(FailedPrecondition(
      "model ", options_.spec.name, " changed its configuration while this client ran: ",
      reason.ok() ? "connect again to agree to it" : reason.message()));
}

}  // namespace bandana::device
