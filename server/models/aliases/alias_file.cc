#include "server/models/aliases/alias_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kAliasesMagic = "BANDALIA";
constexpr std::uint32_t kAliasesVersion = 1;
constexpr std::uint64_t kAliasesBytesMax = std::uint64_t{16} << 20;

std::string AliasesPathOf(const std::string& data_dir) { return data_dir + "/aliases"; }

void PutName(std::string_view name, std::string& out) {
  ByteWriter(out).U8(static_cast<std::uint8_t>(name.size()));
  out.append(name);
}

std::string NameFrom(ByteReader& in) { return std::string(in.Take(in.U8())); }

void PutOne(const AliasSpec& alias, std::string& out) {
  PutName(alias.name, out);
  ByteWriter writer(out);
  writer.U8(alias.configured ? 1 : 0);
  writer.Fixed(alias.policy);
  writer.U8(static_cast<std::uint8_t>(alias.shares.size()));
  for (const AliasShare& share : alias.shares) {
    PutName(share.model, out);
    writer.U32(share.weight);
  }
}

// nullopt: no alias that this server could have written.
std::optional<AliasSpec> OneFrom(ByteReader& in) {
  AliasSpec alias;
  alias.name = NameFrom(in);
  const std::uint8_t configured = in.U8();
  alias.configured = configured == 1;
  in.Fixed(alias.policy);
  const int shares = in.U8();
  for (int i = 0; i < shares; ++i) {
    AliasShare& share = alias.shares.emplace_back();
    share.model = NameFrom(in);
    share.weight = in.U32();
  }
  std::vector<ConfigError> errors;
  ParseAlias(ToProto(alias), FieldChecks(errors));
  const bool weighted =
      std::ranges::none_of(alias.shares, [](const AliasShare& share) { return share.weight == 0; });
  if (!in.ok() || configured > 1 || !errors.empty() || !weighted) return std::nullopt;
  return alias;
}

std::optional<Aliases> AllFrom(std::string_view body) {
  ByteReader in(body);
  if (in.Take(kAliasesMagic.size()) != kAliasesMagic || in.U32() != kAliasesVersion)
    return std::nullopt;
  Aliases aliases;
  const std::uint32_t count = in.U32();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::optional<AliasSpec> alias = OneFrom(in);
    if (!alias) return std::nullopt;
    const std::string name = alias->name;
    if (!aliases.emplace(name, *std::move(alias)).second) return std::nullopt;
  }
  if (!in.Done()) return std::nullopt;
  return aliases;
}

std::string EncodeAliases(const Aliases& aliases) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Fixed(AsBytes(kAliasesMagic));
  out.U32(kAliasesVersion);
  out.U32(static_cast<std::uint32_t>(aliases.size()));
  for (const auto& [name, alias] : aliases) PutOne(alias, bytes);
  out.Fixed(Sha256Of(bytes));
  return bytes;
}

absl::StatusOr<Aliases> DecodeAliases(std::string_view where, std::string_view bytes) {
  const std::size_t size = bytes.size() - std::min(bytes.size(), sizeof(Sha256Digest));
  const std::string_view body = bytes.substr(0, size);
  std::optional<Aliases> aliases;
  if (AsChars(Sha256Of(body)) == bytes.substr(size)) aliases = AllFrom(body);
  if (!aliases) return DataLoss(ToAbsl(where), ": damaged, or of another version");
  return *std::move(aliases);
}

constexpr char kSharedName[] = "aliases";

}  // namespace

absl::Status WriteAliases(const std::string& data_dir, const Aliases& aliases) {
  return WriteFileDurably(AliasesPathOf(data_dir), EncodeAliases(aliases), 0600);
}

absl::StatusOr<Aliases> ReadAliases(const std::string& data_dir) {
  const std::string path = AliasesPathOf(data_dir);
  const absl::StatusOr<std::string> bytes = ReadFile(path, kAliasesBytesMax);
  if (absl::IsNotFound(bytes.status())) return Aliases();
  BANDANA_RETURN_IF_ERROR(bytes.status());
  return DecodeAliases(path, *bytes);
}

absl::StatusOr<Aliases> AliasStore::Read() {
  if (shared_ == nullptr) return ReadAliases(data_dir_);
  const absl::StatusOr<SharedFiles::File> file = shared_->Read(kSharedName);
  if (absl::IsNotFound(file.status())) {
    version_ = 0;
    return ReadAliases(data_dir_);
  }
  BANDANA_RETURN_IF_ERROR(file.status());
  BANDANA_ASSIGN_OR_RETURN(Aliases aliases, DecodeAliases("the shared aliases", file->content));
  version_ = file->version;
  return aliases;
}

absl::Status AliasStore::Write(const Aliases& aliases) {
  if (shared_ == nullptr) return WriteAliases(data_dir_, aliases);
  BANDANA_ASSIGN_OR_RETURN(
      version_, shared_->Replace(kSharedName, version_, EncodeAliases(aliases), /*secret=*/false));
  return absl::OkStatus();
}

absl::StatusOr<bool> AliasStore::Changed() const {
  if (shared_ == nullptr) return false;
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t version, shared_->Version(kSharedName));
  return version != version_;
}

}  // namespace bandana::server
