// A call between being taken in and being answered, whichever listener took it: who may make it,
// the slot that it holds, the handler that it runs, and what others hear of it. Calls of gRPC,
// HTTP, administration and peers are all of this, and so are those of the transcript audit, which
// has no sockets.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/connections/conduct.h"
#include "server/service/transport/call_log.h"
#include "server/service/transport/call_observer.h"
#include "server/service/transport/exchange.h"
#include "server/service/transport/handed_calls.h"
#include "server/service/transport/handlers.h"
#include "server/service/transport/retry_pause.h"
#include "server/service/transport/rpcs.h"

namespace bandana::server {

// Whoever takes a call out answers it. So a Finish that comes after the listener gave up, or even
// after it is gone, finds nothing. Threads: safe.
class UnfinishedCalls {
 public:
  // `answer` is never null. Returns the ticket to take it with; 0 when closed.
  std::uint64_t Add(Finish answer);
  // Null when it was taken before.
  Finish Take(std::uint64_t ticket);
  // Takes no more, and answers all that are there.
  void Close(const absl::Status& status);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Finish> calls_;
  std::uint64_t next_ = 1;
  bool closed_ = false;
};

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
// `handlers` must outlive it.
UnrecordedQuery UnrecordedBy(Handlers& handlers);

struct CallDeskOptions {
  Gatekeeper* gatekeeper = nullptr;  // null: everybody may do everything
  CallObserver* observer = nullptr;  // may be null
  CallLog* log = nullptr;            // may be null
  // Gets the record of each call whose caller asks for spans; null: nobody gets any. A call that
  // others must not hear of has none.
  CallLog* spans = nullptr;
  // In flight at a time; the answer to those beyond it is RESOURCE_EXHAUSTED.
  int calls_max = std::numeric_limits<int>::max();
  std::string_view full_message = "too many calls in flight";
  absl::Duration full_pause = kOverloadPause;
  // Whether calls that come first leave no room for those of this desk. Null: never.
  std::function<bool()> overloaded = nullptr;
  // The callers of calls that other listeners hand to a synchronous service. Null: there are none.
  const HandedCalls* handed = nullptr;
  UnrecordedQuery keeps_unrecorded = nullptr;  // asked of rpcs that may be unrecorded
  // Told of each call (Acceptor::Report).
  ConductSink conduct = [](const std::string&, Conduct) {};
  bool tells_all = true;  // `conduct` also hears of calls that are not at fault
};

// The state that the calls of one listener share. Threads: safe.
struct CallDesk {
  explicit CallDesk(CallDeskOptions given) : options(std::move(given)), slots(options.calls_max) {}
  // Calls that come from now on are UNAVAILABLE.
  void Refuse() { refusing.store(true); }
  // Answers the calls whose handlers have not finished, UNAVAILABLE.
  void EndUnfinished();

  const CallDeskOptions options;
  CallSlots slots;
  std::atomic<bool> refusing{false};
  std::atomic<std::int64_t> refusals{0};  // for that reason, so far
  // A Finish that comes late finds it although the desk is gone.
  const std::shared_ptr<UnfinishedCalls> unfinished = std::make_shared<UnfinishedCalls>();
};

// The facts of a call that only its listener knows.
class CallOrigin {
 public:
  // Whose connection it came by, for ConductSink.
  virtual std::string Peer() const = 0;
  virtual TraceParent Trace() const = 0;

 protected:
  ~CallOrigin() = default;
};

// How a call ended, for its answer.
struct CallEnd {
  absl::Status status;
  std::string request_id;                             // of its line in the log; empty: it has none
  absl::Duration retry_after = absl::ZeroDuration();  // zero: nothing is said; or kNeverAgain
};

// Threads: one at a time. Methods are called in this order; all but TakeIn and End may be left out.
class TakenCall {
 public:
  using Clock = std::chrono::steady_clock;

  // `origin` outlives the call. `model`: the one that it is about, "" where that is not known yet.
  // A call that may be unrecorded is so until its model is known to let others hear of it.
  void TakeIn(CallDesk& desk, const Rpc& rpc, std::string_view model, const CallOrigin& origin);
  // Whether it may be served. `who`: as Gatekeeper::Admit. Errors: UNAVAILABLE draining; those of
  // Gatekeeper::Admit; RESOURCE_EXHAUSTED too many calls are in flight, or calls that come first.
  template <typename Who>
  absl::Status Admit(const Who& who);
  // Its work begins. Later ones are ignored. A call that may be unrecorded is not told of before it
  // has named its model, or is answered.
  void Started(Clock::time_point now);
  // Checks the models that the request names, and runs the handler. `answer` is called once, on any
  // thread: with the status of the handler, unless the desk is closed first. It must End the call,
  // and the response is the exchange's.
  void Run(std::shared_ptr<Exchange> exchange, const Callees& callees, Finish answer);
  // The model and the policy that the request names are known. Run says so.
  void ModelKnown(std::string_view model, std::string_view policy_hash);
  // Whether it may concern this model, in an rpc of Admin: its line in the log names it. Errors:
  // PERMISSION_DENIED.
  absl::Status AllowModel(std::string_view model);
  // It is answered: tells observer and log, and gives the slot back. `retry_after`: zero where
  // nothing better is known than how long it was refused for, or kOverloadPause for those that
  // exhaust the server. Only the first is heard.
  CallEnd End(const absl::Status& status, absl::Duration retry_after = absl::ZeroDuration());

  const Caller& caller() const { return caller_; }
  // How long an admission that was refused asks to wait; zero: it does not say.
  absl::Duration retry_after() const { return retry_after_; }
  Clock::time_point ended() const { return ended_at_; }

 private:
  absl::Status EnterSlot();
  void TellStart();
  bool HasItsLine(int status_code, absl::Duration duration) const;

  CallDesk* desk_ = nullptr;
  const Rpc* rpc_ = nullptr;
  const CallOrigin* origin_ = nullptr;
  Clock::time_point arrival_;
  Clock::time_point ended_at_;
  Caller caller_;
  std::string model_;        // for the line of an rpc of Admin
  bool unrecorded_ = false;  // nobody hears of it
  bool model_known_ = false;
  bool started_ = false;
  bool told_ = false;  // that it has started
  bool admitted_ = false;
  bool ended_ = true;
  absl::Duration waited_;
  absl::Duration retry_after_;
};

template <typename Who>
absl::Status TakenCall::Admit(const Who& who) {
  if (desk_->refusing.load(std::memory_order_relaxed)) {
    desk_->refusals.fetch_add(1, std::memory_order_relaxed);
    return absl::UnavailableError("server is draining");
  }
  if (Gatekeeper* const gatekeeper = desk_->options.gatekeeper; gatekeeper != nullptr) {
    Admittance admittance = gatekeeper->Admit(who, &rpc_->rule);
    caller_ = std::move(admittance.caller);  // also of one that is refused: its line names it
    retry_after_ = admittance.retry_after;
    if (absl::IsUnauthenticated(admittance.status)) {
      desk_->options.conduct(origin_->Peer(), Conduct::kRefused);
    }
    if (!admittance.status.ok()) return admittance.status;
  }
  return EnterSlot();
}

}  // namespace bandana::server
