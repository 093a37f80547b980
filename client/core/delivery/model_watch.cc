#include "client/core/delivery/model_watch.h"

#include "client/core/messages.h"
#include "client/core/model_answer.h"
#include "client/core/policy.h"
#include "common/base/status.h"

namespace bandana::device {

void ModelWatch::AskAgain(Then then) {
  asking_.push_back(std::move(then));
  if (asking_.size() > 1) return;
  pending_->Begin();
  calls_->Make(Method::kGetModel, ModelRequestBytes(options_.spec.name),
               {.deadline = options_.deadline, .wait_for_ready = options_.wait_for_server},
               [this](const Answer& answer, const std::string& response) {
                 // Without an answer the next refused report asks again.
                 if (answer.status.ok()) OnModel(response);
                 for (const Then& then : std::exchange(asking_, {})) then(answer.status.ok());
                 pending_->End();
               });
}

void ModelWatch::OnModel(const std::string& response) {
  if (options_.kept != nullptr) options_.kept->Put(KeptAnswers::kModel, response);
  const auto model = ReadModelAnswer(response);
  if (model.ok() && model->spec.PolicyHash() == options_.spec.PolicyHash()) {
    epoch_ = model->epoch;
    return;
  }
  absl::Status reason = model.status();
  if (reason.ok()) reason = CheckPolicy(model->spec, options_.policy);
  pending_->Refuse(FailedPrecondition(
      "model ", options_.spec.name, " changed its configuration while this client ran: ",
      reason.ok() ? "connect again to agree to it" : reason.message()));
}

}  // namespace bandana::device
