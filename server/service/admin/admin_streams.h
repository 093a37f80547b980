// The streams of Admin: messages in and out of one call, with their bounds.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "server/models/hosted_model.h"

namespace bandana::server {

// Reads the rest of the stream and puts all arms at once: a stream that breaks off changes nothing.
// Errors: CANCELLED the stream broke off; INVALID_ARGUMENT another model's name in a later message;
// RESOURCE_EXHAUSTED more arms than the model's arms_max or more than kAdminStreamBytesMax; and
// those of HostedModel::PutArms.
absl::Status ReadArms(grpc::ServerContext& context, v1::PutArmsRequest first,
                      grpc::ServerReader<v1::PutArmsRequest>& reader, HostedModel& model,
                      v1::PutArmsResponse& response);

// The same of users. Errors: as ReadArms, and those of HostedModel::NewUsers, before any more is
// read, UserBatch::Add and HostedModel::PutUsers.
absl::Status ReadUsers(grpc::ServerContext& context, v1::PutUsersRequest first,
                       grpc::ServerReader<v1::PutUsersRequest>& reader, HostedModel& model,
                       v1::PutUsersResponse& response);

// Errors: CANCELLED the peer went away.
absl::Status WriteArms(const Catalogue& catalogue, grpc::ServerWriter<v1::Arm>& writer);

// One exported model, and in `name` the new name from the first message. Errors: as ReadArms.
absl::StatusOr<std::string> ReadChunks(grpc::ServerContext& context,
                                       grpc::ServerReader<v1::ImportRequest>& reader,
                                       std::string& name);
absl::Status WriteChunks(std::string_view bytes, grpc::ServerWriter<v1::Chunk>& writer);

}  // namespace bandana::server
