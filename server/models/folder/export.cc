#include "server/models/folder/export.h"

#include <utility>

#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

constexpr std::string_view kMagic = "BANDEXPT";
constexpr std::uint32_t kVersion = 1;
// Arms have groups, and users follow them. A model without groups keeps the first form.
constexpr std::uint32_t kVersionWithGroups = 2;

void PutArm(ByteWriter& out, bool groups, const CatalogueArm& arm) {
  out.U32(arm.id);
  out.Doubles(arm.features);
  out.U8(static_cast<std::uint8_t>(arm.tags.size()));
  for (const std::string& tag : arm.tags) out.Block(tag);
  if (!groups) return;
  out.U8(static_cast<std::uint8_t>(arm.groups.size()));
  for (const auto& [name, value] : arm.groups) {
    out.Block(name);
    out.Block(value);
  }
}

void PutArms(ByteWriter& out, bool groups, const Catalogue& catalogue) {
  out.U64(static_cast<std::uint64_t>(catalogue.size()));
  catalogue.ForEach([&](const CatalogueEntry& entry) {
    PutArm(out, groups, catalogue.ArmOf(entry));
    return true;
  });
}

std::vector<CatalogueArm> TakeArms(ByteReader& in, bool groups, int dimension) {
  std::vector<CatalogueArm> arms;
  const std::uint64_t count = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    CatalogueArm& arm = arms.emplace_back();
    arm.id = in.U32();
    arm.features.resize(dimension);
    in.Doubles(arm.features);
    const int tags = in.U8();
    for (int t = 0; t < tags && in.ok(); ++t) arm.tags.emplace_back(in.Block());
    const int values = groups ? in.U8() : 0;
    for (int g = 0; g < values && in.ok(); ++g) {
      const std::string_view name = in.Block();
      arm.groups.emplace(name, in.Block());
    }
  }
  return arms;
}

}  // namespace

std::string EncodeExport(const v1::ModelConfig& config, std::string_view checkpoint,
                         const Catalogue& catalogue, std::string_view users) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Fixed(AsBytes(kMagic));
  const bool groups = catalogue.parts() > 1 || !users.empty();
  out.U32(groups ? kVersionWithGroups : kVersion);
  out.Block(config.SerializeAsString());
  out.Block(checkpoint);
  PutArms(out, groups, catalogue);
  if (groups) out.Block(users);
  out.Fixed(Sha256Of(bytes));
  return bytes;
}

absl::StatusOr<ExportedModel> DecodeExport(std::string_view bytes) {
  Sha256Digest digest{};
  if (bytes.size() < kMagic.size() + digest.size()) return DataLoss("export: truncated");
  const std::string_view body = bytes.substr(0, bytes.size() - digest.size());
  ByteReader(bytes.substr(body.size())).Fixed(digest);
  if (Sha256Of(body) != digest) return DataLoss("export: checksum mismatch");
  ByteReader in(body);
  const bool is_export = in.Take(kMagic.size()) == kMagic;
  const std::uint32_t version = in.U32();
  if (!is_export || (version != kVersion && version != kVersionWithGroups)) {
    return DataLoss("export: not an exported model, or of an unknown version");
  }
  ExportedModel model;
  const std::string_view config = in.Block();
  if (!model.config.ParseFromArray(config.data(), static_cast<int>(config.size()))) {
    return DataLoss("export: the configuration does not parse");
  }
  BANDANA_ASSIGN_OR_RETURN(model.checkpoint, DecodeCheckpoint(in.Block()));
  const bool groups = version == kVersionWithGroups;
  model.arms = TakeArms(in, groups, model.checkpoint.dimension);
  if (groups) model.users = in.Block();
  if (!in.Done()) return DataLoss("export: length mismatch");
  return model;
}

absl::StatusOr<std::string> CheckpointToExport(std::string_view bytes, const EventPath& path,
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
  return EncodeAgain(checkpoint);
}

std::string CheckpointOfCopy(Checkpoint& checkpoint, const InstanceId& instance) {
  CloseReported(checkpoint.former, checkpoint.state.windows, checkpoint.statistics);
  checkpoint.instance = instance;
  return EncodeAgain(checkpoint);
}

}  // namespace bandana::server
