#include "server/service/admin/owner_calls.h"

namespace bandana::server {

absl::Status OwnerCalls::Export(const grpc::ServerContext& context, const std::string& owner,
                                const v1::ExportRequest& request,
                                grpc::ServerWriter<v1::Chunk>& writer,
                                StreamGuard::Lease& lease) const {
  const auto stub = StubOf(owner);
  if (stub == nullptr) return OwnerAway();
  const auto call = grpc::ClientContext::FromServerContext(context);
  const auto reader = stub->Export(call.get(), request);
  v1::Chunk chunk;
  bool written = true;
  while (written && reader->Read(&chunk)) {
    written = writer.Write(chunk);
    lease.Extend(MovingTime(chunk.data().size()));
  }
  if (!written) call->TryCancel();
  const grpc::Status status = reader->Finish();
  if (!written) return absl::CancelledError("the reader went away");
  return OwnerChannels::StatusOf(status);
}

}  // namespace bandana::server
