#include "server/service/admin/admin_streams.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/model_rules.h"

namespace bandana::server {
namespace {

absl::Status BrokenOff() {
  return absl::CancelledError("the stream broke off, or took too long; nothing was changed");
}

absl::Status TooLarge() {
  return absl::ResourceExhaustedError(
      absl::StrCat("a stream may carry at most ", kAdminStreamBytesMax, " bytes"));
}

absl::Status AppendArms(const v1::PutArmsRequest& message, int arms_max,
                        std::vector<CatalogueArm>& arms) {
  for (const v1::Arm& arm : message.arms()) {
    if (static_cast<int>(arms.size()) >= arms_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat("arms: the catalogue holds at most arms_max = ", arms_max));
    }
    arms.push_back({.id = arm.id(),
                    .features = {arm.features().begin(), arm.features().end()},
                    .tags = {arm.tags().begin(), arm.tags().end()},
                    .groups = {arm.groups().begin(), arm.groups().end()}});
  }
  return absl::OkStatus();
}

// Reads all messages of a call that puts things of one model, `first` and those after it. Errors:
// those of `take`, which gets each; CANCELLED; INVALID_ARGUMENT; RESOURCE_EXHAUSTED.
template <typename Request, typename Take>
absl::Status ReadAll(grpc::ServerContext& context, Request first,
                     grpc::ServerReader<Request>& reader, Take take) {
  const std::string name = first.model();
  std::uint64_t bytes = 0;
  bool complete = false;
  Request message = std::move(first);
  do {
    if (complete) return InvalidArgument("last: a message follows the last one");
    if (!message.model().empty() && message.model() != name) {
      return InvalidArgument("model: one call is about one model");
    }
    bytes += message.ByteSizeLong();
    if (bytes > kAdminStreamBytesMax) return TooLarge();
    BANDANA_RETURN_IF_ERROR(take(message));
    complete = message.last();
    message.Clear();
  } while (reader.Read(&message));
  if (context.IsCancelled()) return BrokenOff();
  // A client that died may look like one that has ended its stream.
  if (!complete) return InvalidArgument("last: the stream ended without its last message");
  return absl::OkStatus();
}

absl::Status CheckName(const std::string& name) {
  std::vector<ConfigError> errors;
  CheckModelName("model", name, FieldChecks(errors));
  return ToStatus(errors);
}

}  // namespace

absl::Status ReadArms(grpc::ServerContext& context, v1::PutArmsRequest first,
                      grpc::ServerReader<v1::PutArmsRequest>& reader, HostedModel& model,
                      v1::PutArmsResponse& response) {
  std::vector<CatalogueArm> arms;
  BANDANA_RETURN_IF_ERROR(
      ReadAll(context, std::move(first), reader, [&](const v1::PutArmsRequest& message) {
        return AppendArms(message, model.spec().arms_max, arms);
      }));
  return model.PutArms(arms, &response);
}

absl::Status ReadUsers(grpc::ServerContext& context, v1::PutUsersRequest first,
                       grpc::ServerReader<v1::PutUsersRequest>& reader, HostedModel& model,
                       v1::PutUsersResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(UserBatch batch, model.NewUsers());
  BANDANA_RETURN_IF_ERROR(ReadAll(
      context, std::move(first), reader, [&](const v1::PutUsersRequest& message) -> absl::Status {
        for (const v1::User& user : message.users()) BANDANA_RETURN_IF_ERROR(batch.Add(user));
        return batch.bytes() > kAdminStreamBytesMax ? TooLarge() : absl::OkStatus();
      }));
  return model.PutUsers(batch, &response);
}

absl::Status WriteArms(const Catalogue& catalogue, grpc::ServerWriter<v1::Arm>& writer) {
  v1::Arm message;
  bool written = true;
  catalogue.ForEach([&](const CatalogueEntry& entry) {
    const CatalogueArm arm = catalogue.ArmOf(entry);
    message.set_id(arm.id);
    message.mutable_features()->Assign(arm.features.begin(), arm.features.end());
    message.mutable_tags()->Assign(arm.tags.begin(), arm.tags.end());
    message.clear_groups();
    for (const auto& [name, value] : arm.groups) (*message.mutable_groups())[name] = value;
    written = writer.Write(message);
    return written;
  });
  if (!written) return absl::CancelledError("the reader went away");
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadChunks(grpc::ServerContext& context,
                                       grpc::ServerReader<v1::ImportRequest>& reader,
                                       std::string& name) {
  std::string bytes;
  v1::ImportRequest message;
  for (bool first = true; reader.Read(&message); first = false) {
    if (first) {
      name = message.model();
      BANDANA_RETURN_IF_ERROR(CheckName(name));
    }
    if (bytes.size() + message.chunk().data().size() > kAdminStreamBytesMax) return TooLarge();
    bytes += message.chunk().data();
    message.Clear();
  }
  if (context.IsCancelled()) return BrokenOff();
  if (bytes.empty()) return InvalidArgument("chunk: the stream carried no data");
  return bytes;
}

absl::Status WriteChunks(std::string_view bytes, grpc::ServerWriter<v1::Chunk>& writer) {
  constexpr std::size_t kChunkBytes = 1 << 20;
  v1::Chunk chunk;
  for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    chunk.set_data(std::string(bytes.substr(at, kChunkBytes)));
    if (!writer.Write(chunk)) return absl::CancelledError("the reader went away");
  }
  return absl::OkStatus();
}

}  // namespace bandana::server
