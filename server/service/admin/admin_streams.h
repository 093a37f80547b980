// The streams of Admin: messages in and out of one call, with their bounds.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/v1/admin.pb.h"
#include "server/models/hosted_model.h"
#include "server/models/registry.h"
#include "server/service/admin/stream_guard.h"

namespace bandana::server {

// Reads the rest of the stream and puts all arms at once: a stream that breaks off changes nothing.
// Errors: CANCELLED the stream broke off; INVALID_ARGUMENT another model's name in a later message;
// RESOURCE_EXHAUSTED more arms than the model's arms_max or more than kAdminStreamBytesMax; and
// those of AdministeredModel::PutArms.
absl::Status ReadArms(grpc::ServerContext& context, v1::PutArmsRequest first,
                      grpc::ServerReader<v1::PutArmsRequest>& reader, HostedModel& model,
                      v1::PutArmsResponse& response);

// As above for users. Errors: as ReadArms, and those of AdministeredModel::NewUsers, before any
// more is read, UserBatch::Add and AdministeredModel::PutUsers.
absl::Status ReadUsers(grpc::ServerContext& context, v1::PutUsersRequest first,
                       grpc::ServerReader<v1::PutUsersRequest>& reader, HostedModel& model,
                       v1::PutUsersResponse& response);

// Errors: CANCELLED the peer went away.
absl::Status WriteArms(const Catalogue& catalogue, grpc::ServerWriter<v1::Arm>& writer);

// The name of a new model. Errors: INVALID_ARGUMENT.
absl::Status CheckName(const std::string& name);

// A stream that moves may take a second longer per so many bytes, so that it may have any size.
inline constexpr std::uint64_t kStreamBytesPerSecondMin = 1 << 20;
inline absl::Duration MovingTime(std::size_t bytes) {
  return absl::Seconds(1) * (static_cast<double>(bytes) / kStreamBytesPerSecondMin);
}

// One exported model on its way in.
struct ReceivedExport {
  std::string name;                        // the new one
  std::optional<v1::ExportHeader> header;  // as it was promised
  TempFile file;
};
// Told which model a stream is about, as soon as it says so. Errors: the caller may not name it.
using NameSeen = std::function<absl::Status(const std::string& name)>;
// Reads the whole stream into a file. A header is checked before anything behind it is read;
// without one at most `headless_bytes_max` bytes are taken. Errors: those of
// ModelAdministration::CheckImport; CANCELLED the stream broke off; INVALID_ARGUMENT the name, or
// other than the promised bytes; RESOURCE_EXHAUSTED the disk is full, or too much without a header.
absl::StatusOr<ReceivedExport> ReadExport(grpc::ServerContext& context,
                                          grpc::ServerReader<v1::ImportRequest>& reader,
                                          ModelAdministration& registry,
                                          std::uint64_t headless_bytes_max,
                                          StreamGuard::Lease& lease, const NameSeen& named);
// The header, then the bytes of the file. Errors: CANCELLED the peer went away; UNAVAILABLE I/O.
absl::Status WriteChunks(const ExportedFile& exported, grpc::ServerWriter<v1::Chunk>& writer,
                         StreamGuard::Lease& lease);

// The content of an ExportDecisionsRequest. `key` null: lines have no users.
struct DecisionRequest {
  DecisionExport::Range range;
  std::shared_ptr<const PseudonymKey> key;
};
// Errors: INVALID_ARGUMENT a key of another length, or an empty range.
absl::StatusOr<DecisionRequest> ReadDecisionRequest(const v1::ExportDecisionsRequest& request);
// The model's time, then the files. Errors: CANCELLED the peer went away; UNAVAILABLE I/O.
absl::Status WriteDecisions(const LoggedModel::DecisionFiles& files, const DecisionRequest& asked,
                            grpc::ServerWriter<v1::DecisionChunk>& writer,
                            StreamGuard::Lease& lease);

}  // namespace bandana::server
