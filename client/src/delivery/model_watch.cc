#include "client/src/delivery/model_watch.h"

#include "client/src/privacy/policy.h"
#include "common/base/status.h"

namespace bandana::device {

void ModelWatch::AskAgain(Then then) {
  {
    const std::lock_guard lock(mutex_);
    asking_.push_back(std::move(then));
    if (asking_.size() > 1) return;
  }
  pending_->Begin();
  v1::GetModelRequest request;
  request.set_model(options_.spec.name);
  transport_->GetModel(request,
                       {.deadline = options_.deadline, .wait_for_ready = options_.wait_for_server},
                       [this](const Answer& answer, v1::GetModelResponse& response) {
                         OnModel(answer, response);
                         std::vector<Then> waiting;
                         {
                           const std::lock_guard lock(mutex_);
                           waiting.swap(asking_);
                         }
                         for (const Then& then : waiting) then(answer.status.ok());
                         pending_->End();
                       });
}

void ModelWatch::OnModel(const Answer& answer, const v1::GetModelResponse& response) {
  if (!answer.status.ok()) return;  // the next refused report asks again
  if (options_.kept != nullptr) {
    options_.kept->Put(KeptAnswers::kModel, response.SerializeAsString());
  }
  const auto spec = ParsePublicSpec(response.SerializeAsString());
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
