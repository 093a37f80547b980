#include "server/service/admin/admin_streams.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/wire_messages.h"
#include "common/features/encoder.h"
#include "common/promise/model_rules.h"

namespace bandana::server {
namespace {

absl::Status BrokenOff() {
  return absl::CancelledError("the stream broke off, or took too long; nothing was changed");
}

absl::Status TooLarge() {
  return absl::ResourceExhaustedError(
      absl::StrCat("a stream may carry at most ", kAdminStreamBytesMax, " bytes"));
}

absl::Status TooLargeWithoutHeader(std::uint64_t bytes_max) {
  return absl::ResourceExhaustedError(
      absl::StrCat("a stream without a header may carry at most ", bytes_max,
                   " bytes: import with a bandana-ctl that sends one"));
}

absl::Status NotAsPromised(const v1::ExportHeader& header, const std::string& what) {
  return InvalidArgument("header: promises ", header.bytes(), " bytes, ", what);
}

// The vector of an arm whose values have names; the vector that is given for any other.
absl::Status FillFeatures(const v1::Arm& arm, HostedModel& model, std::vector<double>& features) {
  features.assign(arm.features().begin(), arm.features().end());
  if (!arm.has_named_features()) return absl::OkStatus();
  const FeatureSchema* const schema = model.spec().public_spec.features.get();
  if (schema == nullptr) {
    return InvalidArgument("named_features: the model has no schema of named features");
  }
  if (!features.empty()) return InvalidArgument("features or named_features, got both");
  // The values in a catalogue are public.
  ValueLog log;
  log.Begin(ValueRule::kOpen, schema->fields().size());
  features.resize(static_cast<std::size_t>(schema->dimension()));
  BANDANA_RETURN_IF_ERROR(EncodeArm(*schema, FromProto(arm.named_features()),
                                    {.list = "named_features"}, log, features));
  model.CountValues(log.counts());
  return absl::OkStatus();
}

absl::Status AppendArms(const v1::PutArmsRequest& message, HostedModel& model,
                        std::vector<CatalogueArm>& arms) {
  const int arms_max = model.spec().arms_max;
  for (const v1::Arm& arm : message.arms()) {
    if (static_cast<int>(arms.size()) >= arms_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat("arms: the catalogue holds at most arms_max = ", arms_max));
    }
    std::vector<double> features;
    const absl::Status filled = FillFeatures(arm, model, features);
    if (!filled.ok()) return Annotate(filled, absl::StrCat("arm ", arm.id()));
    absl::StatusOr<ArmFacts> facts = FactsOf(arm);
    if (!facts.ok()) return Annotate(facts.status(), absl::StrCat("arm ", arm.id()));
    arms.push_back({.id = arm.id(),
                    .features = std::move(features),
                    .tags = {arm.tags().begin(), arm.tags().end()},
                    .groups = {arm.groups().begin(), arm.groups().end()},
                    .name = arm.name(),
                    .facts = *std::move(facts)});
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

}  // namespace

absl::Status CheckName(const std::string& name) {
  std::vector<ConfigError> errors;
  CheckModelName("model", name, FieldChecks(errors));
  return ToStatus(errors);
}

absl::Status ReadArms(grpc::ServerContext& context, v1::PutArmsRequest first,
                      grpc::ServerReader<v1::PutArmsRequest>& reader, HostedModel& model,
                      v1::PutArmsResponse& response) {
  std::vector<CatalogueArm> arms;
  BANDANA_RETURN_IF_ERROR(
      ReadAll(context, std::move(first), reader,
              [&](const v1::PutArmsRequest& message) { return AppendArms(message, model, arms); }));
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
    message.set_name(arm.name);
    FillFacts(arm.facts, message);
    written = writer.Write(message);
    return written;
  });
  if (!written) return absl::CancelledError("the reader went away");
  return absl::OkStatus();
}

absl::StatusOr<ReceivedExport> ReadExport(grpc::ServerContext& context,
                                          grpc::ServerReader<v1::ImportRequest>& reader,
                                          ModelAdministration& registry,
                                          std::uint64_t headless_bytes_max,
                                          StreamGuard::Lease& lease, const NameSeen& named) {
  v1::ImportRequest message;
  if (!reader.Read(&message)) {
    return context.IsCancelled() ? BrokenOff() : InvalidArgument("chunk: the stream is empty");
  }
  const std::string name = message.model();
  BANDANA_RETURN_IF_ERROR(named(name));
  BANDANA_RETURN_IF_ERROR(CheckName(name));
  std::optional<v1::ExportHeader> header;
  if (message.chunk().has_header()) {
    header = std::move(*message.mutable_chunk()->mutable_header());
    BANDANA_RETURN_IF_ERROR(registry.CheckImport(name, *header));
  }
  BANDANA_ASSIGN_OR_RETURN(TempFile file, registry.NewImportFile());
  if (header) BANDANA_RETURN_IF_ERROR(file.Reserve(header->bytes()));
  const std::uint64_t bytes_max = header ? header->bytes() : headless_bytes_max;
  do {
    const std::string& data = message.chunk().data();
    if (data.size() > bytes_max - file.size()) {
      return header ? NotAsPromised(*header, "more came") : TooLargeWithoutHeader(bytes_max);
    }
    BANDANA_RETURN_IF_ERROR(file.Append(data));
    lease.Extend(MovingTime(data.size()));
    message.Clear();
  } while (reader.Read(&message));
  if (context.IsCancelled()) return BrokenOff();
  if (file.size() == 0) return InvalidArgument("chunk: the stream carried no data");
  // A client that died may look like one that has ended its stream.
  if (header && file.size() != bytes_max) {
    return NotAsPromised(*header, absl::StrCat(file.size(), " came"));
  }
  return ReceivedExport{name, std::move(header), std::move(file)};
}

absl::Status WriteChunks(const ExportedFile& exported, grpc::ServerWriter<v1::Chunk>& writer,
                         StreamGuard::Lease& lease) {
  constexpr std::size_t kChunkBytes = 1 << 20;
  v1::Chunk chunk;
  *chunk.mutable_header() = exported.header;
  bool written = writer.Write(chunk);
  chunk.Clear();
  std::string& data = *chunk.mutable_data();
  for (std::uint64_t at = 0; written && at < exported.file.size(); at += data.size()) {
    data.resize(kChunkBytes);
    BANDANA_ASSIGN_OR_RETURN(const std::size_t read, exported.file.ReadAt(at, data));
    data.resize(read);
    written = read > 0 && writer.Write(chunk);
    lease.Extend(MovingTime(read));
  }
  if (!written) return absl::CancelledError("the reader went away");
  return absl::OkStatus();
}

absl::StatusOr<DecisionRequest> ReadDecisionRequest(const v1::ExportDecisionsRequest& request) {
  DecisionRequest asked;
  const auto time = [](const google::protobuf::Timestamp& stamp) {
    return absl::FromUnixSeconds(stamp.seconds()) + absl::Nanoseconds(stamp.nanos());
  };
  if (request.has_from()) asked.range.from = time(request.from());
  if (request.has_to()) asked.range.to = time(request.to());
  if (!(asked.range.from < asked.range.to)) return InvalidArgument("from: must be before `to`");
  const std::string& key = request.user_key();
  if (key.empty()) return asked;
  if (key.size() != PseudonymKey::kBytes) {
    return InvalidArgument("user_key: must have ", PseudonymKey::kBytes, " bytes, got ",
                           key.size());
  }
  BANDANA_ASSIGN_OR_RETURN(
      asked.key, PseudonymKey::Make(AsBytes(std::string_view(key)).first<PseudonymKey::kBytes>()));
  return asked;
}

absl::Status WriteDecisions(const LoggedModel::DecisionFiles& files, const DecisionRequest& asked,
                            grpc::ServerWriter<v1::DecisionChunk>& writer,
                            StreamGuard::Lease& lease) {
  v1::DecisionChunk chunk;
  const std::int64_t nanos = absl::ToUnixNanos(files.now);
  chunk.mutable_now()->set_seconds(nanos / 1'000'000'000);
  chunk.mutable_now()->set_nanos(static_cast<std::int32_t>(nanos % 1'000'000'000));
  chunk.set_server(files.server);
  *chunk.mutable_servers() = {files.servers.begin(), files.servers.end()};
  if (!writer.Write(chunk)) return absl::CancelledError("the reader went away");
  chunk.Clear();
  return files.files.Write(asked.key.get(),
                           [&](const std::string& file, std::string_view bytes) -> absl::Status {
                             chunk.set_file(file);
                             chunk.set_data(bytes.data(), bytes.size());
                             if (!writer.Write(chunk)) {
                               return absl::CancelledError("the reader went away");
                             }
                             lease.Extend(MovingTime(bytes.size()));
                             return absl::OkStatus();
                           });
}

}  // namespace bandana::server
