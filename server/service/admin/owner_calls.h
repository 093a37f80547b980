// Calls of Admin about a model that another server owns: its owner answers them.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "server/service/admin/admin_streams.h"
#include "server/service/owners/owner_channels.h"

namespace bandana::server {

// A method of Admin's stub.
using AdminStub = v1::Admin::StubInterface;
template <typename Request, typename Response>
using AskUnary = grpc::Status (AdminStub::*)(grpc::ClientContext*, const Request&, Response*);
template <typename Request, typename Response>
using AskPut = std::unique_ptr<grpc::ClientWriterInterface<Request>> (AdminStub::*)(
    grpc::ClientContext*, Response*);

// A call ends when its caller's does. Errors: those of OwnerChannels. Threads: all methods are
// safe, and wait for the owner.
class OwnerCalls {
 public:
  // `channels` null: what others own is UNAVAILABLE. `patience`: with a unary call.
  OwnerCalls(OwnerChannels* channels, absl::Duration patience)
      : channels_(channels), patience_(patience) {}

  template <typename Request, typename Response>
  absl::Status Ask(const grpc::ServerContext& context, const std::string& owner,
                   AskUnary<Request, Response> ask, const Request& request,
                   Response& response) const {
    const auto stub = StubOf(owner);
    if (stub == nullptr) return OwnerAway();
    const auto call = grpc::ClientContext::FromServerContext(context);
    call->set_deadline(absl::ToChronoTime(absl::Now() + patience_));
    return OwnerChannels::StatusOf((stub.get()->*ask)(call.get(), request, &response));
  }

  // Passes the messages of a stream on, `first` and those after it. A stream that breaks off here
  // breaks off there.
  template <typename Request, typename Response>
  absl::Status Put(const grpc::ServerContext& context, const std::string& owner,
                   AskPut<Request, Response> ask, Request first,
                   grpc::ServerReader<Request>& reader, Response& response) const {
    const auto stub = StubOf(owner);
    if (stub == nullptr) return OwnerAway();
    const auto call = grpc::ClientContext::FromServerContext(context);
    const auto writer = (stub.get()->*ask)(call.get(), &response);
    Request message = std::move(first);
    bool open = writer->Write(message);
    while (open && reader.Read(&message)) open = writer->Write(message);
    if (context.IsCancelled()) call->TryCancel();
    writer->WritesDone();
    return OwnerChannels::StatusOf(writer->Finish());
  }

  // Passes the chunks of an export on. Errors: also CANCELLED the reader went away.
  absl::Status Export(const grpc::ServerContext& context, const std::string& owner,
                      const v1::ExportRequest& request, grpc::ServerWriter<v1::Chunk>& writer,
                      StreamGuard::Lease& lease) const;

 private:
  std::shared_ptr<AdminStub> StubOf(const std::string& owner) const {
    return channels_ == nullptr ? nullptr : channels_->Admin(owner);
  }

  OwnerChannels* const channels_;
  const absl::Duration patience_;
};

}  // namespace bandana::server
