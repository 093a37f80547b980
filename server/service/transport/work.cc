#include "server/service/transport/work.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <cstddef>
#include <cstdint>

namespace bandana::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// One slice of the exact size: gRPC's own serializer grows a buffer block by block.
grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  const std::size_t size = message.ByteSizeLong();
  grpc::Slice slice(size);
  message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

bool Parse(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  grpc::Slice slice;
  if (bytes.TrySingleSlice(&slice).ok()) {
    return message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  grpc::ProtoBufferReader reader(&bytes);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

void Answer(UnaryCall& call, const absl::Status& status,
            const google::protobuf::Message& response) {
  if (!status.ok()) return call.Finish(status, nullptr);
  const grpc::ByteBuffer bytes = Serialize(response);
  call.Finish(status, &bytes);
}

void AnswerUnparsable(UnaryCall& call, const google::protobuf::Message& request) {
  call.Finish(InvalidArgument("request: not a ", request.GetDescriptor()->full_name()), nullptr);
}

std::unique_ptr<Work> MakeCheckWork(const Callees& callees) {
  return std::make_unique<ImmediateWork<HealthCheckRequest, HealthCheckResponse>>(
      [&serving = callees.serving](const HealthCheckRequest& request,
                                   HealthCheckResponse& response) {
        const Serving status = serving(request.service());
        if (status == Serving::kUnknownService) return NotFound("service: no such model");
        response.set_status(status == Serving::kServing ? HealthCheckResponse::SERVING
                                                        : HealthCheckResponse::NOT_SERVING);
        return absl::OkStatus();
      });
}

}  // namespace bandana::server
