#include "server/models/catalogue/arm_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/log/state/folder_state.h"

namespace bandana::server {
namespace {

// Since format 2 an arm may have groups.
constexpr int kFormatWithGroups = 2;
// Since format 3 it may have a name; an arm with a name has its groups before, also none.
constexpr int kFormatWithNames = 3;
// Since format 4 facts; an arm with facts has its groups and its name before, also none.
constexpr int kFormatWithFacts = 4;

// The least that holds these arms: former versions of the program read the smaller ones.
int FormatOf(std::span<const CatalogueArm> arms) {
  int format = 1;
  for (const CatalogueArm& arm : arms) {
    if (!arm.groups.empty()) format = std::max(format, kFormatWithGroups);
    if (!arm.name.empty()) format = std::max(format, kFormatWithNames);
    if (arm.facts.any()) format = std::max(format, kFormatWithFacts);
  }
  return format;
}

std::string KeyOf(std::uint32_t id) {
  std::string key;
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(id >> shift));
  return key;
}

// -1: no key of an arm.
std::int64_t IdOfKey(std::string_view key) {
  if (key.size() != sizeof(std::uint32_t)) return -1;
  std::uint32_t id = 0;
  for (const char c : key) id = id << 8 | static_cast<unsigned char>(c);
  return id;
}

// Features, tags, groups where there are any, the name where there is one, facts where there are
// any, and the first 8 bytes of SHA-256 over the id and all.
std::string EncodeArm(const CatalogueArm& arm) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U32(arm.id);
  out.U32(static_cast<std::uint32_t>(arm.features.size()));
  out.Doubles(arm.features);
  out.U8(static_cast<std::uint8_t>(arm.tags.size()));
  for (const std::string& tag : arm.tags) out.Block(tag);
  const bool facts = arm.facts.any();
  if (!arm.groups.empty() || !arm.name.empty() || facts) {
    out.U8(static_cast<std::uint8_t>(arm.groups.size()));
    for (const auto& [name, value] : arm.groups) {
      out.Block(name);
      out.Block(value);
    }
  }
  if (!arm.name.empty() || facts) out.Block(arm.name);
  if (facts) EncodeFacts(arm.facts, out);
  const Sha256Digest digest = Sha256Of(bytes);
  out.Fixed(std::span(digest).first(8));
  return bytes;
}

absl::StatusOr<CatalogueArm> DecodeArm(int format, std::string_view key, std::string_view bytes) {
  const std::int64_t id = IdOfKey(key);
  std::array<std::byte, 8> check{};
  if (bytes.size() < check.size()) return DataLoss("arm ", id, ": truncated");
  const std::string_view body = bytes.substr(0, bytes.size() - check.size());
  const Sha256Digest digest = Sha256Of(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), check.size()) != 0) {
    return DataLoss("arm ", id, ": checksum mismatch");
  }
  ByteReader in(body);
  CatalogueArm arm{.id = in.U32()};
  const std::uint32_t dimension = in.U32();
  if (arm.id != id || dimension > kSparseDimensionMax)
    return DataLoss("arm ", id, ": wrong content");
  arm.features.resize(dimension);
  in.Doubles(arm.features);
  const int tags = in.U8();
  // Former versions took texts from files as they were: an answer with one could not be read.
  for (int i = 0; i < tags && in.ok(); ++i) arm.tags.push_back(ToUtf8(in.Block()));
  const int groups = format >= kFormatWithGroups && in.remaining() > 0 ? in.U8() : 0;
  for (int i = 0; i < groups && in.ok(); ++i) {
    const std::string_view name = in.Block();
    arm.groups.emplace(name, in.Block());
  }
  if (format >= kFormatWithNames && in.ok() && in.remaining() > 0) arm.name = ToUtf8(in.Block());
  if (format >= kFormatWithFacts && in.ok() && in.remaining() > 0) arm.facts = DecodeFacts(in);
  if (!in.Done()) return DataLoss("arm ", id, ": wrong length");
  return arm;
}

}  // namespace

absl::StatusOr<ArmStore> ArmStore::Open(const TablePlace& place) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<RowTable> table, place.open());
  return ArmStore(std::move(table));
}

absl::StatusOr<ArmStore> ArmStore::Open(const std::string& path) {
  return Open(SqliteTableAt(TableKind::kArms, path));
}

absl::StatusOr<std::vector<CatalogueArm>> ArmStore::Load() {
  std::vector<CatalogueArm> arms;
  BANDANA_RETURN_IF_ERROR(
      table_->ForEach([&](std::string_view key, std::string_view value) -> absl::Status {
        BANDANA_ASSIGN_OR_RETURN(CatalogueArm arm, DecodeArm(table_->format(), key, value));
        arms.push_back(std::move(arm));
        return absl::OkStatus();
      }));
  return arms;
}

absl::StatusOr<RowsSince> ArmStore::ChangesSince(std::int64_t version,
                                                 std::vector<CatalogueArm>& arms) {
  // The rows may be of a greater format than this object knew.
  std::vector<std::pair<std::string, std::string>> rows;
  BANDANA_ASSIGN_OR_RETURN(const RowsSince since,
                           table_->ChangesSince(version, [&](std::string_view key, auto value) {
                             rows.emplace_back(key, value);
                             return absl::OkStatus();
                           }));
  arms.clear();
  for (const auto& [key, value] : rows) {
    BANDANA_ASSIGN_OR_RETURN(CatalogueArm arm, DecodeArm(table_->format(), key, value));
    arms.push_back(std::move(arm));
  }
  return since;
}

absl::Status ArmStore::Put(std::span<const CatalogueArm> arms, const KeyChange& keys) {
  return PutFromFile(arms, file(), keys);
}

absl::Status ArmStore::PutFromFile(std::span<const CatalogueArm> arms, const Sha256Digest& file,
                                   const KeyChange& keys) {
  const auto rows = [&](RowVisit take) -> absl::Status {
    for (const CatalogueArm& arm : arms) {
      BANDANA_RETURN_IF_ERROR(take(KeyOf(arm.id), EncodeArm(arm)));
    }
    return absl::OkStatus();
  };
  return table_
      ->Change({.put = RowSource(rows), .file = file, .format = FormatOf(arms), .keys = keys})
      .status();
}

absl::Status ArmStore::Remove(std::span<const std::uint32_t> ids, const KeyChange& keys) {
  std::vector<std::string> stored;
  for (const std::uint32_t id : ids) stored.push_back(KeyOf(id));
  const std::vector<std::string_view> removed(stored.begin(), stored.end());
  return table_->Change({.removed = removed, .keys = keys}).status();
}

}  // namespace bandana::server
