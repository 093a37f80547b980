#include "server/decisions/log_parts.h"

#include <algorithm>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kPartsMagic = "BANDPART";
constexpr std::uint32_t kPartsVersion = 1;

void Prune(LogParts& parts) {
  std::erase_if(parts.erasures, [&](const LogParts::Erasure& erasure) {
    return std::ranges::none_of(parts.keepers, [&](const auto& keeper) {
      return !keeper.second.struck && keeper.second.done < erasure.number;
    });
  });
}

std::size_t UsersIn(const LogParts& parts) {
  std::size_t users = 0;
  for (const LogParts::Erasure& erasure : parts.erasures) users += erasure.users.size();
  return users;
}

void PutOne(const StoredId& instance, const LogParts& parts, std::string& bytes) {
  ByteWriter out(bytes);
  out.Fixed(instance);
  out.U64(parts.newest);
  out.U32(static_cast<std::uint32_t>(parts.keepers.size()));
  for (const auto& [name, keeper] : parts.keepers) {
    out.U32(static_cast<std::uint32_t>(name.size()));
    bytes += name;
    out.U64(keeper.done);
    out.U8(keeper.struck ? 1 : 0);
  }
  out.U32(static_cast<std::uint32_t>(parts.erasures.size()));
  for (const LogParts::Erasure& erasure : parts.erasures) {
    out.U64(erasure.number);
    out.U32(static_cast<std::uint32_t>(erasure.users.size()));
    for (const UserPseudonym& user : erasure.users) out.Fixed(user);
  }
}

LogParts OneFrom(ByteReader& in) {
  LogParts parts;
  parts.newest = in.U64();
  const std::uint32_t keepers = in.U32();
  for (std::uint32_t i = 0; i < keepers && in.ok(); ++i) {
    LogParts::Keeper& keeper = parts.keepers[std::string(in.Take(in.U32()))];
    keeper.done = in.U64();
    keeper.struck = in.U8() != 0;
  }
  const std::uint32_t erasures = in.U32();
  for (std::uint32_t i = 0; i < erasures && in.ok(); ++i) {
    LogParts::Erasure& erasure = parts.erasures.emplace_back();
    erasure.number = in.U64();
    const std::uint32_t users = in.U32();
    for (std::uint32_t user = 0; user < users && in.ok(); ++user) {
      in.Fixed(erasure.users.emplace_back());
    }
  }
  return parts;
}

}  // namespace

bool MayGoOn(const LogParts& parts, std::string_view name, std::uint64_t done) {
  const auto keeper = parts.keepers.find(name);
  return keeper != parts.keepers.end() && !keeper->second.struck && done >= keeper->second.done;
}

std::vector<UserPseudonym> UsersAfter(const LogParts& parts, std::uint64_t done) {
  std::vector<UserPseudonym> users;
  for (const LogParts::Erasure& erasure : parts.erasures) {
    if (erasure.number <= done) continue;
    users.insert(users.end(), erasure.users.begin(), erasure.users.end());
  }
  return users;
}

void SetKeeper(LogParts& parts, const std::string& name, std::uint64_t done) {
  parts.keepers[name] = {.done = done};
  // A store that was put back has numbers that were used before.
  parts.newest = std::max(parts.newest, done);
  Prune(parts);
}

void RemoveKeeper(LogParts& parts, std::string_view name) {
  if (const auto keeper = parts.keepers.find(name); keeper != parts.keepers.end()) {
    parts.keepers.erase(keeper);
  }
  Prune(parts);
}

std::uint64_t AddErasure(LogParts& parts, std::vector<UserPseudonym> users) {
  parts.erasures.push_back({++parts.newest, std::move(users)});
  Prune(parts);  // nobody keeps a part
  while (UsersIn(parts) > kUsersErasingMax && parts.erasures.size() > 1) {
    const std::uint64_t oldest = parts.erasures.front().number;
    for (auto& [name, keeper] : parts.keepers) {
      if (keeper.done < oldest) keeper.struck = true;
    }
    Prune(parts);
  }
  return parts.newest;
}

std::vector<std::string> Outstanding(const LogParts& parts, std::uint64_t number) {
  std::vector<std::string> names;
  for (const auto& [name, keeper] : parts.keepers) {
    if (keeper.struck || keeper.done < number) names.push_back(name);
  }
  return names;
}

std::string EncodeParts(const LogPartsTable& table) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Fixed(AsBytes(kPartsMagic));
  out.U32(kPartsVersion);
  const auto kept = [](const auto& model) { return !model.second.keepers.empty(); };
  out.U32(static_cast<std::uint32_t>(std::ranges::count_if(table, kept)));
  for (const auto& [instance, parts] : table) {
    if (!parts.keepers.empty()) PutOne(instance, parts, bytes);
  }
  return bytes;
}

absl::StatusOr<LogPartsTable> DecodeParts(std::string_view bytes) {
  const absl::Status damaged =
      DataLoss("the servers' parts of decision logs: damaged, or of another version");
  ByteReader in(bytes);
  if (in.Take(kPartsMagic.size()) != kPartsMagic || in.U32() != kPartsVersion) return damaged;
  LogPartsTable table;
  const std::uint32_t models = in.U32();
  for (std::uint32_t i = 0; i < models && in.ok(); ++i) {
    StoredId instance{};
    in.Fixed(instance);
    table[instance] = OneFrom(in);
  }
  if (!in.Done()) return damaged;
  return table;
}

}  // namespace bandana::server
