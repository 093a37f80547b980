// The parts that servers of one store have of a model's decision log: who keeps one, and which
// users' lines must go from all of them. Pure: what was read goes in, what is to be written comes
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/decisions/segment.h"

namespace bandana::server {

// The parts of one model's. Erasures have numbers 1, 2, 3 and so on; each is there until every
// keeper has done it.
struct LogParts {
  struct Keeper {
    std::uint64_t done = 0;  // the newest erasure up to which its lines are gone
    bool struck = false;     // it was away for too many: all its lines go when it comes back
    friend bool operator==(const Keeper&, const Keeper&) = default;
  };
  struct Erasure {
    std::uint64_t number = 0;
    std::vector<UserPseudonym> users;
    friend bool operator==(const Erasure&, const Erasure&) = default;
  };
  std::uint64_t newest = 0;                            // the number of the newest erasure, ever
  std::map<std::string, Keeper, std::less<>> keepers;  // by the server's name
  std::vector<Erasure> erasures;                       // ascending
  friend bool operator==(const LogParts&, const LogParts&) = default;
};

// Users that are to be erased at a time, of one model; beyond it keepers that are behind are
// struck.
inline constexpr std::size_t kUsersErasingMax = 1 << 16;

// Whether lines that a server has can go on: it is a keeper, and what was erased since `done`, as
// its folder says, is known still. Else some of them may be of users who were deleted.
bool MayGoOn(const LogParts& parts, std::string_view name, std::uint64_t done);

// The users whose lines a server that has done so much has still to erase. Requires MayGoOn.
std::vector<UserPseudonym> UsersAfter(const LogParts& parts, std::uint64_t done);

// The server keeps a part, in which everything up to `done` is erased.
void SetKeeper(LogParts& parts, const std::string& name, std::uint64_t done);
// It keeps none any more.
void RemoveKeeper(LogParts& parts, std::string_view name);
// Lines of these users are to go from every part; returns the erasure's number. Requires users.
std::uint64_t AddErasure(LogParts& parts, std::vector<UserPseudonym> users);
// The servers that have not done it yet.
std::vector<std::string> Outstanding(const LogParts& parts, std::uint64_t number);

// By the model's instance.
using LogPartsTable = std::map<StoredId, LogParts>;
// Models without keepers are left out.
std::string EncodeParts(const LogPartsTable& table);
// Errors: DATA_LOSS damaged, or of another version.
absl::StatusOr<LogPartsTable> DecodeParts(std::string_view bytes);

}  // namespace bandana::server
