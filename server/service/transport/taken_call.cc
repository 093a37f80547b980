#include "server/service/transport/taken_call.h"

#include <utility>

namespace bandana::server {
namespace {

// About the time in which a full server clears what it has admitted.
constexpr absl::Duration kOverloadPause = absl::Milliseconds(50);

}  // namespace

bool CallSlots::Enter(CallClass call_class) {
  if (calls_.fetch_add(1, std::memory_order_relaxed) >= calls_max_) {
    calls_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  if (call_class == CallClass::kReport &&
      reports_.fetch_add(1, std::memory_order_relaxed) >= reports_max_) {
    reports_.fetch_sub(1, std::memory_order_relaxed);
    calls_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  return true;
}

void CallSlots::Leave(CallClass call_class) {
  if (call_class == CallClass::kReport) reports_.fetch_sub(1, std::memory_order_relaxed);
  calls_.fetch_sub(1, std::memory_order_release);
}

void TakenCall::TakeIn(CallDesk& desk, const Rpc& rpc, std::string_view model) {
  desk_ = &desk;
  rpc_ = &rpc;
  arrival_ = Clock::now();
  caller_ = {};
  unrecorded_ = rpc.may_be_unrecorded && desk.keeps_unrecorded(model, "");
  model_known_ = false;
  started_ = false;
  told_ = false;
  admitted_ = false;
  waited_ = absl::ZeroDuration();
}

void TakenCall::EnterSlot(Admittance& admittance) {
  if (!desk_->slots.Enter(rpc_->call_class)) {
    admittance.status = absl::ResourceExhaustedError("too many calls in flight");
    admittance.retry_after = kOverloadPause;
    return;
  }
  admitted_ = true;
  if (!unrecorded_) desk_->slots.Show();
}

void TakenCall::ModelKnown(std::string_view model, std::string_view policy_hash) {
  if (!rpc_->may_be_unrecorded) return;
  const bool unrecorded = desk_->keeps_unrecorded(model, policy_hash);
  if (admitted_ && unrecorded && !unrecorded_) desk_->slots.Hide();
  if (admitted_ && !unrecorded && unrecorded_) desk_->slots.Show();
  unrecorded_ = unrecorded;
  model_known_ = true;
  if (started_) TellStart();
}

void TakenCall::Started(absl::Duration waited) {
  if (std::exchange(started_, true)) return;
  waited_ = waited;
  if (model_known_ || !rpc_->may_be_unrecorded) TellStart();
}

void TakenCall::TellStart() {
  if (unrecorded_ || desk_->observer == nullptr || std::exchange(told_, true)) return;
  desk_->observer->OnStart(*rpc_, waited_);
}

std::string TakenCall::End(int status_code, Clock::time_point now,
                           absl::FunctionRef<std::string()> trace_id) {
  const absl::Duration duration = absl::FromChrono(now - arrival_);
  if (started_) TellStart();
  std::string request_id;
  if (!unrecorded_) {
    if (desk_->observer != nullptr) desk_->observer->OnCall(*rpc_, status_code, duration);
    if (desk_->log != nullptr && HasLine(status_code, duration, desk_->log->slow())) {
      const CallRecord record{.method = rpc_->method(),
                              .caller = std::string(NameOf(caller_)),
                              .status_code = status_code,
                              .duration = duration,
                              .request_id = NewRequestId(),
                              .trace_id = trace_id()};
      request_id = record.request_id;
      desk_->log->Write(record);
    }
  }
  if (std::exchange(admitted_, false)) {
    if (!unrecorded_) desk_->slots.Hide();
    // The last that touches what all calls share: whoever closes the listener waits for it.
    desk_->slots.Leave(rpc_->call_class);
  }
  return request_id;
}

}  // namespace bandana::server
