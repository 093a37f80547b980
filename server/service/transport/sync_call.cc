#include "server/service/transport/sync_call.h"

#include <grpcpp/server_context.h>

namespace bandana::server {

SyncCall::SyncCall(CallDesk& desk, grpc::ServerContext& context, const Rpc& rpc)
    : context_(context) {
  taken_.TakeIn(desk, rpc, "", *this);
  status_ = taken_.Admit(context);
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

std::string SyncCall::Peer() const { return context_.peer(); }
std::string SyncCall::TraceId() const { return TraceIdOf(context_); }

}  // namespace bandana::server
