#include "server/api/admin/admin_call.h"

#include <grpcpp/channel.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "server/service/transport/call_log.h"
#include "server/service/transport/retry_pause.h"

namespace bandana::server {
namespace {

constexpr int kLooks = 100;

std::string Trailing(const grpc::ClientContext& context, const char* key) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

absl::Duration RetryAfter(const grpc::ClientContext& context) {
  std::int64_t ms = 0;
  return absl::SimpleAtoi(Trailing(context, kPushbackKey), &ms) && ms > 0 ? absl::Milliseconds(ms)
                                                                          : absl::ZeroDuration();
}

}  // namespace

AdminCall::AdminCall(const std::shared_ptr<grpc::Channel>& channel, std::string_view method,
                     std::unique_ptr<HandedCalls::Ticket> ticket)
    : ticket_(std::move(ticket)) {
  context_.AddMetadata(kHandedCallKey, ticket_->text());
  grpc::GenericStub stub(channel);
  stream_ = stub.PrepareCall(&context_, absl::StrCat("/", ToAbsl(method)), &queue_);
  stream_->StartCall(this);
  open_ = Await();
}

AdminCall::~AdminCall() {
  if (!finished_) {
    context_.TryCancel();
    Finish();
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (looks_.Next(queue_, &tag, &ok)) {
  }
}

bool AdminCall::Await() {
  void* tag = nullptr;
  bool ok = false;
  // Messages of a stream are there almost at once: whoever sleeps for each is slow.
  for (int look = 0; look < kLooks; ++look) {
    if (queue_.AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC)) ==
        grpc::CompletionQueue::GOT_EVENT) {
      return ok;
    }
    std::this_thread::yield();
  }
  return looks_.Next(queue_, &tag, &ok) && ok;
}

bool AdminCall::Write(const google::protobuf::Message& message) {
  if (!open_) return false;
  grpc::ByteBuffer bytes;
  bool own = false;
  const grpc::Status written =
      grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes,
                                                                                 &own);
  if (!written.ok()) return open_ = false;
  stream_->Write(bytes, this);
  return open_ = Await();
}

bool AdminCall::EndWrites() {
  if (!open_) return false;
  stream_->WritesDone(this);
  return open_ = Await();
}

bool AdminCall::Read(google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  stream_->Read(&bytes, this);
  if (!Await()) return false;
  grpc::ProtoBufferReader reader(&bytes);
  return message.ParseFromZeroCopyStream(&reader);
}

CallEnd AdminCall::Finish() {
  grpc::Status status;
  finished_ = true;
  stream_->Finish(&status, this);
  Await();
  return {.status = absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                                 status.error_message()),
          .request_id = Trailing(context_, kRequestIdKey),
          .retry_after = RetryAfter(context_)};
}

}  // namespace bandana::server
