#include "server/service/transport/sync_call.h"

#include <grpcpp/server_context.h>

namespace bandana::server {
namespace {

std::shared_ptr<const HandedCaller> HandedBy(const HandedCalls* calls,
                                             const grpc::ServerContext& context) {
  if (calls == nullptr) return nullptr;
  const auto found = context.client_metadata().find(kHandedCallKey);
  if (found == context.client_metadata().end()) return nullptr;
  return calls->Find({found->second.data(), found->second.size()});
}

}  // namespace

SyncCall::SyncCall(CallDesk& desk, grpc::ServerContext& context, const Rpc& rpc)
    : context_(context), handed_(HandedBy(desk.options.handed, context)) {
  taken_.TakeIn(desk, rpc, "", *this);
  status_ = handed_ == nullptr ? taken_.Admit(context) : taken_.Admit(handed_->credentials());
  if (taken_.retry_after() > absl::ZeroDuration()) {
    context.AddTrailingMetadata(kPushbackKey, PushbackText(taken_.retry_after()));
  }
}

SyncCall::~SyncCall() {
  const CallEnd end = taken_.End(status_);
  if (!status_.ok() && !end.request_id.empty()) {
    context_.AddTrailingMetadata(kRequestIdKey, end.request_id);
  }
}

std::string SyncCall::Peer() const { return handed_ == nullptr ? context_.peer() : handed_->peer; }
TraceParent SyncCall::Trace() const {
  return handed_ == nullptr ? TraceParentOf(context_) : handed_->trace;
}

}  // namespace bandana::server
