#include "server/models/folder/export.h"

#include <limits>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

constexpr std::string_view kExportMagic = "BANDEXPT";
constexpr std::uint32_t kExportVersion = 1;
// Arms have groups, and users follow them. A model without groups keeps the first form.
constexpr std::uint32_t kVersionWithGroups = 2;
// Arms have names as well. A catalogue without names keeps the forms before.
constexpr std::uint32_t kVersionWithNames = 3;
// Arms have facts as well. A catalogue without facts keeps the forms before.
constexpr std::uint32_t kVersionWithFacts = 4;

ExportedArmForm FormOf(std::uint32_t version) {
  return {.groups = version >= kVersionWithGroups,
          .name = version >= kVersionWithNames,
          .facts = version >= kVersionWithFacts};
}

void PutArm(ByteWriter& out, const ExportedArmForm& form, const CatalogueArm& arm) {
  out.U32(arm.id);
  out.Doubles(arm.features);
  out.U8(static_cast<std::uint8_t>(arm.tags.size()));
  for (const std::string& tag : arm.tags) out.Block(tag);
  if (!form.groups) return;
  out.U8(static_cast<std::uint8_t>(arm.groups.size()));
  for (const auto& [name, value] : arm.groups) {
    out.Block(name);
    out.Block(value);
  }
  if (form.name) out.Block(arm.name);
  if (form.facts) EncodeFacts(arm.facts, out);
}

absl::Status PutArms(PieceWriter& pieces, const ExportedArmForm& form, const Catalogue& catalogue) {
  pieces.out().U64(static_cast<std::uint64_t>(catalogue.size()));
  absl::Status put;
  catalogue.ForEach([&](const CatalogueEntry& entry) {
    PutArm(pieces.out(), form, catalogue.ArmOf(entry));
    put = pieces.Pass();
    return put.ok();
  });
  return put.ok() ? pieces.Flush() : put;
}

CatalogueArm TakeArm(ByteReader& in, const ExportedArmForm& form, int dimension) {
  CatalogueArm arm;
  arm.id = in.U32();
  arm.features.resize(dimension);
  in.Doubles(arm.features);
  const int tags = in.U8();
  for (int t = 0; t < tags && in.ok(); ++t) arm.tags.emplace_back(in.Block());
  const int values = form.groups ? in.U8() : 0;
  for (int g = 0; g < values && in.ok(); ++g) {
    const std::string_view name = in.Block();
    arm.groups.emplace(name, in.Block());
  }
  if (form.name) arm.name = in.Block();
  if (form.facts) arm.facts = DecodeFacts(in);
  return arm;
}

void PassOverArm(ByteReader& in, const ExportedArmForm& form, int dimension) {
  in.U32();
  in.Take(static_cast<std::uint64_t>(dimension) * sizeof(double));
  const int tags = in.U8();
  for (int t = 0; t < tags && in.ok(); ++t) in.Block();
  const int values = in.U8();
  for (int g = 0; g < values && in.ok(); ++g) {
    in.Block();
    in.Block();
  }
  if (form.name) in.Block();
  if (form.facts) DecodeFacts(in);
}

// A block whose length is known once it is there.
absl::Status AppendBlock(const ExportSource::Part& part, TempFile& file) {
  const std::uint64_t at = file.size();
  const auto length = [&](std::uint64_t bytes) {
    std::string text;
    ByteWriter(text).U64(bytes);
    return text;
  };
  BANDANA_RETURN_IF_ERROR(file.Append(length(0)));
  const std::uint64_t begin = file.size();
  BANDANA_RETURN_IF_ERROR(part([&](std::string_view bytes) { return file.Append(bytes); }));
  return file.WriteAt(at, length(file.size() - begin));
}

absl::Status AppendDigest(TempFile& file) {
  Sha256 digest;
  std::string buffer(std::size_t{1} << 20, '\0');
  for (std::uint64_t at = 0; at < file.size();) {
    BANDANA_ASSIGN_OR_RETURN(const std::size_t read, file.ReadAt(at, buffer));
    if (read == 0) return Unavailable("a temporary file was cut");
    digest.Update(std::string_view(buffer).substr(0, read));
    at += read;
  }
  return file.Append(AsChars(digest.Finish()));
}

}  // namespace

absl::Status WriteExport(const ExportSource& source, TempFile& file) {
  const bool groups = source.catalogue.parts() > 1 || source.users != nullptr;
  const std::uint32_t version = source.catalogue.has_facts()   ? kVersionWithFacts
                                : source.catalogue.has_names() ? kVersionWithNames
                                : groups                       ? kVersionWithGroups
                                                               : kExportVersion;
  const ExportedArmForm form = FormOf(version);
  PieceWriter pieces([&](std::string_view bytes) { return file.Append(bytes); });
  pieces.out().Fixed(AsBytes(kExportMagic));
  pieces.out().U32(version);
  pieces.out().Block(source.config.SerializeAsString());
  BANDANA_RETURN_IF_ERROR(pieces.Flush());
  BANDANA_RETURN_IF_ERROR(AppendBlock(source.checkpoint, file));
  BANDANA_RETURN_IF_ERROR(PutArms(pieces, form, source.catalogue));
  if (source.users != nullptr) {
    BANDANA_RETURN_IF_ERROR(AppendBlock(source.users, file));
  } else if (form.groups) {
    pieces.out().Block("");
    BANDANA_RETURN_IF_ERROR(pieces.Flush());
  }
  return AppendDigest(file);
}

std::string EncodeExport(const v1::ModelConfig& config, std::string_view checkpoint,
                         const Catalogue& catalogue, std::string_view users) {
  ExportSource source{.config = config,
                      .checkpoint = [&](const ByteSink& sink) { return sink(checkpoint); },
                      .catalogue = catalogue};
  if (!users.empty()) source.users = [&](const ByteSink& sink) { return sink(users); };
  absl::StatusOr<TempFile> file = TempFile::InMemory();
  BANDANA_CHECK(file.ok());
  const absl::Status written = WriteExport(source, *file);
  BANDANA_CHECK(written.ok());
  const absl::StatusOr<MappedFile> map = file->Map();
  BANDANA_CHECK(map.ok());
  return std::string(map->bytes());
}

absl::Status ExportedArms::ForEach(const std::function<absl::Status(CatalogueArm)>& body) const {
  ByteReader in(bytes_);
  for (std::uint64_t i = 0; i < count_; ++i) {
    // Bounds what is allocated by what is there.
    if (in.remaining() < static_cast<std::size_t>(dimension_) * sizeof(double)) break;
    CatalogueArm arm = TakeArm(in, form_, dimension_);
    if (!in.ok()) break;
    BANDANA_RETURN_IF_ERROR(body(std::move(arm)));
    if (i + 1 == count_ && in.Done()) return absl::OkStatus();
  }
  if (count_ == 0 && in.Done()) return absl::OkStatus();
  return DataLoss("export: length mismatch");
}

absl::StatusOr<ExportView> LookAtExport(std::string_view bytes) {
  if (bytes.size() < kExportMagic.size() + sizeof(Sha256Digest))
    return DataLoss("export: truncated");
  ByteReader in(bytes.substr(0, bytes.size() - sizeof(Sha256Digest)));
  ExportView view;
  if (in.Take(kExportMagic.size()) != kExportMagic)
    return DataLoss("export: not an exported model");
  view.version = in.U32();
  if (in.ok() && (view.version < kExportVersionMin || view.version > kExportVersionMax)) {
    return FailedPrecondition("export: of format ", view.version, ", this version reads formats ",
                              kExportVersionMin, " to ", kExportVersionMax);
  }
  view.config = in.Block();
  view.checkpoint = in.Block();
  const std::uint64_t arms = in.U64();
  if (!in.ok()) return DataLoss("export: truncated");
  BANDANA_ASSIGN_OR_RETURN(view.extent, ExtentOf(view.checkpoint));
  const ExportedArmForm form = FormOf(view.version);
  const std::string_view rest = in.Take(in.remaining());
  std::size_t behind = rest.size();
  if (form.groups) {
    ByteReader arm(rest);
    for (std::uint64_t i = 0; i < arms && arm.ok(); ++i)
      PassOverArm(arm, form, view.extent.dimension);
    behind = arm.ok() ? rest.size() - arm.remaining() : 0;
    view.users = arm.Block();
    if (!arm.Done()) return DataLoss("export: length mismatch");
  }
  view.arms = ExportedArms(rest.substr(0, behind), arms, view.extent.dimension, form);
  return view;
}

absl::Status CheckExportDigest(std::string_view bytes) {
  Sha256Digest digest{};
  if (bytes.size() < kExportMagic.size() + digest.size()) return DataLoss("export: truncated");
  const std::string_view body = bytes.substr(0, bytes.size() - digest.size());
  ByteReader(bytes.substr(body.size())).Fixed(digest);
  if (Sha256Of(body) != digest) return DataLoss("export: checksum mismatch");
  return absl::OkStatus();
}

absl::StatusOr<ExportedModel> DecodeExport(std::string_view bytes) {
  BANDANA_RETURN_IF_ERROR(CheckExportDigest(bytes));
  const absl::StatusOr<ExportView> view = LookAtExport(bytes);
  if (!view.ok()) return DataLoss(view.status().message());
  ExportedModel model;
  const std::string_view config = view->config;
  if (config.size() > std::numeric_limits<int>::max() ||
      !model.config.ParseFromArray(config.data(), static_cast<int>(config.size()))) {
    return DataLoss("export: the configuration does not parse");
  }
  BANDANA_ASSIGN_OR_RETURN(model.checkpoint, DecodeCheckpoint(view->checkpoint));
  model.arms = view->arms;
  model.users = view->users;
  // Now rather than when half of them are stored.
  BANDANA_RETURN_IF_ERROR(model.arms.ForEach([](const CatalogueArm&) { return absl::OkStatus(); }));
  return model;
}

absl::StatusOr<Checkpoint> StateToExport(std::string_view bytes, const EventPath& path,
                                         const WindowValues& values) {
  BANDANA_ASSIGN_OR_RETURN(Checkpoint checkpoint, DecodeCheckpoint(bytes));
  ModelState& state = checkpoint.state;
  // The running hash is a function of every entry, rewards included, and an address of noise: it
  // stays here. The copy's log begins at its position with any hash; before the first entry it is
  // 0.
  if (state.position.sequence > 0) BANDANA_RETURN_IF_ERROR(SystemBits().Fill(state.position.hash));
  BANDANA_RETURN_IF_ERROR(RestoreStreams(path, checkpoint));
  BANDANA_RETURN_IF_ERROR(path.BeginCopy(values, state, checkpoint.statistics));
  checkpoint.published = {};
  return checkpoint;
}

absl::StatusOr<std::string> CheckpointToExport(std::string_view bytes, const EventPath& path,
                                               const WindowValues& values) {
  BANDANA_ASSIGN_OR_RETURN(const Checkpoint checkpoint, StateToExport(bytes, path, values));
  return EncodeAgain(checkpoint);
}

void BecomeCopy(Checkpoint& checkpoint, const InstanceId& instance) {
  CloseReported(checkpoint.former, checkpoint.state.windows, checkpoint.statistics);
  checkpoint.instance = instance;
}

}  // namespace bandana::server
