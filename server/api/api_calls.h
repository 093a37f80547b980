// The life of one call that comes by HTTP: who may, how many at a time, what is counted and
// written. The objects that decide about calls of gRPC decide here as well.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/api/http_front.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/transport/call_log.h"
#include "server/service/transport/call_observer.h"
#include "server/service/transport/exchange.h"
#include "server/service/transport/rpcs.h"
#include "server/service/transport/transport.h"

namespace bandana::server {

// How a call ended, for its answer.
struct CallEnd {
  absl::Status status;
  std::string request_id;                             // of its line in the log; empty: it has none
  absl::Duration retry_after = absl::ZeroDuration();  // zero: nothing is said
};

class ApiCall;
using CallDone = std::function<void(const absl::Status&)>;

// Calls whose handler will finish later. Whoever takes one out ends it; so a Finish that comes
// after the API is closed finds nothing. Threads: safe.
class UnfinishedCalls {
 public:
  // The ticket to take it with; 0 when closed.
  std::uint64_t Add(CallDone done);
  // Null: it was taken before.
  CallDone Take(std::uint64_t ticket);
  // Takes all of them and closes.
  std::vector<CallDone> Close();

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, CallDone> calls_;
  std::uint64_t next_ = 1;
  bool closed_ = false;
};

// Threads: all methods are safe.
class ApiCalls {
 public:
  struct Options {
    Gatekeeper* gatekeeper = nullptr;  // null: every caller has every role
    CallObserver* observer = nullptr;  // may be null
    CallLog* log = nullptr;            // may be null
    int calls_in_flight_max = 0;
    ConductSink conduct;
    bool tells_all = false;  // `conduct` also hears of calls that are not at fault
  };
  ApiCalls(Options options, Handlers& handlers);

  // Takes a call in. `model`: the one that it is about; empty where that is not known yet.
  // `credentials` are views that must live until Begin returns. The call ends by ApiCall::End.
  std::shared_ptr<ApiCall> Begin(const Rpc& rpc, const HttpCall& http, std::string_view model,
                                 const Credentials& credentials);
  // A call that is refused before anybody asks who it is.
  void NoteTooLarge(const Rpc& rpc, std::string_view model);

  Handlers& handlers() { return handlers_; }
  int in_flight() const { return desk_.slots.in_flight(); }
  int shown_in_flight() const { return desk_.slots.shown_in_flight(); }
  // Calls that come from now on are UNAVAILABLE.
  void Refuse() { desk_.refusing = true; }
  // Ends those that are still in flight with UNAVAILABLE, and waits until nobody is at one.
  void Close();

 private:
  friend class ApiCall;

  Handlers& handlers_;
  CallDesk desk_;
  const ConductSink conduct_;
  const bool tells_all_;
  const std::shared_ptr<UnfinishedCalls> unfinished_ = std::make_shared<UnfinishedCalls>();
};

// One call. Threads: one at a time.
class ApiCall {
 public:
  // Whether it came in. Errors: UNAVAILABLE draining, those of Gatekeeper::Admit,
  // RESOURCE_EXHAUSTED too many calls are in flight.
  const absl::Status& status() const { return status_; }
  const Caller& caller() const { return taken_.caller(); }

  // Checks the models that the request names, and runs the handler. `done` is called once, on any
  // thread; it must hold the call. Requires that it came in.
  void Run(const std::shared_ptr<Exchange>& exchange, const CallDone& done);
  // Tells observer and log. Call once; without it the destructor does, with CANCELLED.
  CallEnd End(const absl::Status& status);
  ~ApiCall();

 private:
  friend class ApiCalls;
  explicit ApiCall(ApiCalls& calls) : calls_(calls) {}

  ApiCalls& calls_;
  TakenCall taken_;
  absl::Status status_;
  absl::Duration retry_after_ = absl::ZeroDuration();
  std::string trace_id_;
  bool ended_ = false;
};

}  // namespace bandana::server
