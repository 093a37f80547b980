// Calls that come by HTTP, as the calls of every listener are: TakenCall.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/api/http_front.h"
#include "server/service/transport/exchange.h"
#include "server/service/transport/rpcs.h"
#include "server/service/transport/taken_call.h"

namespace bandana::server {

class ApiCall;

// Threads: all methods are safe.
class ApiCalls {
 public:
  // `options` without keeps_unrecorded: the handlers know.
  ApiCalls(CallDeskOptions options, Handlers& handlers);

  // Takes a call in. `model`: the one that it is about; empty where that is not known yet.
  // `credentials` are views that must live until Begin returns. The call ends by ApiCall::End.
  std::shared_ptr<ApiCall> Begin(const Rpc& rpc, const HttpCall& http, std::string_view model,
                                 const Credentials& credentials);
  // A call that is refused before anybody asks who it is.
  void NoteTooLarge(const Rpc& rpc, std::string_view model);

  Handlers& handlers() { return handlers_; }
  CallDesk& desk() { return desk_; }
  const CallDesk& desk() const { return desk_; }
  // Ends those that are still in flight with UNAVAILABLE, and waits until nobody is at one.
  void Close();

 private:
  Handlers& handlers_;
  CallDesk desk_;
};

// One call. Threads: one at a time.
class ApiCall final : public CallOrigin {
 public:
  ApiCall(ApiCalls& calls, const HttpCall& http);
  // Ends it with CANCELLED where nobody has.
  ~ApiCall();

  // Whether it came in. Errors: those of TakenCall::Admit.
  const absl::Status& status() const { return status_; }
  const Caller& caller() const { return taken_.caller(); }

  // TakenCall::Run. `done` must hold the call. Requires that it came in.
  void Run(const std::shared_ptr<Exchange>& exchange, Finish done);
  // Call once.
  CallEnd End(const absl::Status& status) { return taken_.End(status); }

  std::string Peer() const override { return peer_; }
  TraceParent Trace() const override { return trace_; }

 private:
  friend class ApiCalls;

  ApiCalls& calls_;
  const std::string peer_;
  const TraceParent trace_;
  TakenCall taken_;
  absl::Status status_;
};

}  // namespace bandana::server
