#include "server/service/transport/taken_call.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// Names of models have no other characters.
std::string NameForLog(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return !std::isalnum(c) && c != '-'; }, '?');
  return text;
}

absl::Status ShuttingDown() { return Unavailable("server is shutting down"); }

}  // namespace

std::uint64_t UnfinishedCalls::Add(Finish answer) {
  const std::lock_guard lock(mutex_);
  if (closed_) return 0;
  calls_.emplace(next_, std::move(answer));
  return next_++;
}

Finish UnfinishedCalls::Take(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(ticket);
  if (found == calls_.end()) return nullptr;
  Finish answer = std::move(found->second);
  calls_.erase(found);
  return answer;
}

void UnfinishedCalls::Close(const absl::Status& status) {
  std::unordered_map<std::uint64_t, Finish> calls;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    calls.swap(calls_);
  }
  for (const auto& [ticket, answer] : calls) answer(status);
}

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

UnrecordedQuery UnrecordedBy(Handlers& handlers) {
  return [&handlers](std::string_view model, std::string_view policy_hash) {
    return handlers.KeepsCallUnrecorded(model, policy_hash);
  };
}

void CallDesk::EndUnfinished() { unfinished->Close(ShuttingDown()); }

void TakenCall::TakeIn(CallDesk& desk, const Rpc& rpc, std::string_view model,
                       const CallOrigin& origin) {
  desk_ = &desk;
  rpc_ = &rpc;
  origin_ = &origin;
  arrival_ = Clock::now();
  caller_ = {};
  model_.clear();
  unrecorded_ = rpc.may_be_unrecorded && desk.options.keeps_unrecorded(model, "");
  model_known_ = false;
  started_ = false;
  told_ = false;
  admitted_ = false;
  ended_ = false;
  waited_ = absl::ZeroDuration();
  retry_after_ = absl::ZeroDuration();
  if (desk.options.tells_all) desk.options.conduct(origin.Peer(), Conduct::kArrived);
}

absl::Status TakenCall::EnterSlot() {
  const CallDeskOptions& options = desk_->options;
  const bool overloaded = options.overloaded != nullptr && options.overloaded();
  if (overloaded || !desk_->slots.Enter(rpc_->call_class)) {
    retry_after_ = options.full_pause;
    return absl::ResourceExhaustedError(ToAbsl(options.full_message));
  }
  admitted_ = true;
  if (!unrecorded_) desk_->slots.Show();
  return absl::OkStatus();
}

void TakenCall::ModelKnown(std::string_view model, std::string_view policy_hash) {
  if (!rpc_->may_be_unrecorded) return;
  const bool unrecorded = desk_->options.keeps_unrecorded(model, policy_hash);
  if (admitted_ && unrecorded && !unrecorded_) desk_->slots.Hide();
  if (admitted_ && !unrecorded && unrecorded_) desk_->slots.Show();
  unrecorded_ = unrecorded;
  model_known_ = true;
  if (started_) TellStart();
}

void TakenCall::Started(Clock::time_point now) {
  if (std::exchange(started_, true)) return;
  waited_ = absl::FromChrono(now - arrival_);
  if (model_known_ || !rpc_->may_be_unrecorded) TellStart();
}

void TakenCall::TellStart() {
  CallObserver* const observer = desk_->options.observer;
  if (unrecorded_ || observer == nullptr || std::exchange(told_, true)) return;
  observer->OnStart(*rpc_, waited_);
}

// Once the handler runs, the call may be answered on another thread, and gone.
void TakenCall::Run(std::shared_ptr<Exchange> exchange, const Callees& callees, Finish answer) {
  ModelKnown(exchange->model(), exchange->policy_hash());
  Started(Clock::now());
  if (absl::Status allowed = exchange->AllowModels(caller_); !allowed.ok()) return answer(allowed);
  if (exchange->answers_at_once()) return exchange->Run(callees, caller_, std::move(answer));
  std::shared_ptr<UnfinishedCalls> unfinished = desk_->unfinished;
  const std::uint64_t ticket = unfinished->Add(answer);
  if (ticket == 0) return answer(ShuttingDown());
  // The exchange belongs to the Finish: the handler may still write into it when the call is over.
  Exchange& running = *exchange;
  running.Run(callees, caller_,
              [exchange = std::move(exchange), unfinished = std::move(unfinished),
               ticket](const absl::Status& status) {
                if (const Finish waiting = unfinished->Take(ticket)) waiting(status);
              });
}

absl::Status TakenCall::AllowModel(std::string_view model) {
  model_ = model.substr(0, kModelNameBytesMax);
  return AuthorizeModel(caller_, model);
}

bool TakenCall::HasItsLine(int status_code, absl::Duration duration) const {
  if (HasLine(status_code, duration, desk_->options.log->slow())) return true;
  return rpc_->changes() && (admitted_ || caller_.principal != nullptr);
}

CallEnd TakenCall::End(const absl::Status& status, absl::Duration retry_after) {
  CallEnd end{.status = status, .request_id = "", .retry_after = retry_after};
  if (end.retry_after == absl::ZeroDuration()) end.retry_after = retry_after_;
  if (end.retry_after == absl::ZeroDuration() && absl::IsResourceExhausted(status)) {
    end.retry_after = kOverloadPause;
  }
  if (std::exchange(ended_, true)) return end;
  ended_at_ = Clock::now();
  const absl::Duration duration = absl::FromChrono(ended_at_ - arrival_);
  if (started_) TellStart();
  const CallDeskOptions& options = desk_->options;
  if (!unrecorded_) {
    const int code = status.raw_code();
    if (options.observer != nullptr) options.observer->OnCall(*rpc_, code, duration);
    const bool has_line = options.log != nullptr && HasItsLine(code, duration);
    TraceParent trace;
    if (has_line || options.spans != nullptr) trace = origin_->Trace();
    const bool has_span = options.spans != nullptr && trace.sampled;
    if (has_line || has_span) {
      const CallRecord record{.admin = rpc_->is_admin(),
                              .method = rpc_->method(),
                              .caller = std::string(NameOf(caller_)),
                              .model = NameForLog(model_),
                              .status_code = code,
                              .duration = duration,
                              .request_id = has_line ? NewRequestId() : "",
                              .trace_id = std::move(trace.trace_id),
                              .parent_id = std::move(trace.parent_id)};
      end.request_id = record.request_id;
      if (has_line) options.log->Write(record);
      if (has_span) options.spans->Write(record);
    }
  }
  if (std::exchange(admitted_, false)) {
    if (!unrecorded_) desk_->slots.Hide();
    // The last that touches what all calls share: whoever closes the listener waits for it.
    desk_->slots.Leave(rpc_->call_class);
  }
  return end;
}

}  // namespace bandana::server
