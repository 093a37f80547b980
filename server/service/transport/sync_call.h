// A call of a synchronous service, whose thread answers it before it returns.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/service/transport/error_text.h"
#include "server/service/transport/handed_calls.h"
#include "server/service/transport/taken_call.h"

namespace grpc {
class ServerContext;
}

namespace bandana::server {

// Taken in by the constructor, ended by the destructor. Not thread-safe.
class SyncCall final : public CallOrigin {
 public:
  SyncCall(CallDesk& desk, grpc::ServerContext& context, const Rpc& rpc);
  ~SyncCall();
  SyncCall(const SyncCall&) = delete;
  SyncCall& operator=(const SyncCall&) = delete;

  // Whether it may come in. Errors: those of TakenCall::Admit, with a pushback in the context's
  // trailing metadata.
  const absl::Status& status() const { return status_; }
  // TakenCall::AllowModel.
  absl::Status AllowModel(std::string_view model) { return taken_.AllowModel(model); }
  // Sets the answer of the call. A failed one gets the name of its line as trailing metadata.
  absl::Status Answer(const absl::Status& status) { return status_ = status; }

  std::string Peer() const override;
  TraceParent Trace() const override;

 private:
  grpc::ServerContext& context_;
  const std::shared_ptr<const HandedCaller> handed_;  // null: it came by this listener
  TakenCall taken_;
  absl::Status status_;
};

// Answers a call by `function`, which takes the SyncCall and returns a status. Nothing is done for
// a call that may not come in.
template <typename Function>
grpc::Status ServeSync(CallDesk& desk, grpc::ServerContext& context, const Rpc& rpc,
                       Function function) {
  SyncCall call(desk, context, rpc);
  return ToGrpc(call.status().ok() ? call.Answer(function(call)) : call.status());
}

}  // namespace bandana::server
