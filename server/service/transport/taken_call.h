// A call between being taken in and being answered, whichever listener took it: who may make it,
// the slot that it holds, and what others hear of it. gRPC's calls and those of HTTP are both of
// this, and so are those of the transcript audit, which has no sockets.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/transport/call_log.h"
#include "server/service/transport/call_observer.h"
#include "server/service/transport/rpcs.h"

namespace bandana::server {

// Calls in flight of one listener. Threads: safe.
class CallSlots {
 public:
  // `calls_max` >= 1. Report and Submit together get three quarters of it, at least 1: while the
  // disk hangs, Select goes on.
  explicit CallSlots(int calls_max)
      : calls_max_(calls_max), reports_max_(calls_max - calls_max / 4) {}
  // False when full; then Leave must not be called.
  bool Enter(CallClass call_class);
  void Leave(CallClass call_class);
  // One of those that entered may be shown, or has been and is about to leave.
  void Show() { shown_.fetch_add(1, std::memory_order_relaxed); }
  void Hide() { shown_.fetch_sub(1, std::memory_order_relaxed); }
  int in_flight() const { return calls_.load(std::memory_order_acquire); }
  // Those that metrics may show.
  int shown_in_flight() const { return shown_.load(std::memory_order_relaxed); }

 private:
  const int calls_max_;
  const int reports_max_;
  std::atomic<int> calls_{0};
  std::atomic<int> reports_{0};
  std::atomic<int> shown_{0};
};

// Handlers::KeepsCallUnrecorded.
using UnrecordedQuery = std::function<bool(std::string_view model, std::string_view policy_hash)>;

// The state that the calls of one listener share.
struct CallDesk {
  CallSlots slots;
  Gatekeeper* const gatekeeper;            // null: everybody may do everything
  CallObserver* const observer;            // may be null
  CallLog* const log;                      // may be null
  const UnrecordedQuery keeps_unrecorded;  // asked of rpcs that may be unrecorded
  std::atomic<bool> refusing{false};       // new calls are answered UNAVAILABLE
  std::atomic<std::int64_t> refusals{0};   // for that reason, so far
};

// Threads: one at a time. Methods are called in this order; ModelKnown and Started may be left out.
class TakenCall {
 public:
  using Clock = std::chrono::steady_clock;

  // `model`: the one that it is about, "" where that is not known yet. A call that may be
  // unrecorded is so until its model is known to let others hear of it.
  void TakeIn(CallDesk& desk, const Rpc& rpc, std::string_view model);
  // Whether it may be served. Errors: UNAVAILABLE draining; those of Gatekeeper::Admit;
  // RESOURCE_EXHAUSTED too many calls are in flight. With `retry_after` where it is known.
  template <typename Who>
  Admittance Admit(const Who& who);
  // The model and the policy that the request names are known.
  void ModelKnown(std::string_view model, std::string_view policy_hash);
  // Its work begins, `waited` after it was taken in. Later ones are ignored. A call that may
  // be unrecorded is not told of before it has named its model, or is answered.
  void Started(absl::Duration waited);
  // It is answered `now`: tells observer and log, and gives the slot back. Returns the name of its
  // line in the log; empty: it has none. `trace_id` is asked for that line alone.
  std::string End(int status_code, Clock::time_point now,
                  absl::FunctionRef<std::string()> trace_id);

  const Caller& caller() const { return caller_; }
  Clock::time_point arrival() const { return arrival_; }

 private:
  void EnterSlot(Admittance& admittance);
  void TellStart();

  CallDesk* desk_ = nullptr;
  const Rpc* rpc_ = nullptr;
  Clock::time_point arrival_;
  Caller caller_;
  bool unrecorded_ = false;  // nobody hears of it
  bool model_known_ = false;
  bool started_ = false;
  bool told_ = false;  // that it has started
  bool admitted_ = false;
  absl::Duration waited_;
};

template <typename Who>
Admittance TakenCall::Admit(const Who& who) {
  Admittance admittance;
  if (desk_->refusing.load(std::memory_order_relaxed)) {
    desk_->refusals.fetch_add(1, std::memory_order_relaxed);
    admittance.status = absl::UnavailableError("server is draining");
    return admittance;
  }
  if (desk_->gatekeeper != nullptr) {
    admittance = desk_->gatekeeper->Admit(who, &rpc_->rule);
    if (!admittance.status.ok()) return admittance;
    caller_ = admittance.caller;
  }
  EnterSlot(admittance);
  return admittance;
}

}  // namespace bandana::server
