#include "server/service/access/capability.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// Fewer of 32 random hexadecimal digits are different with probability 3e-13.
constexpr std::size_t kDifferentMin = 6;

bool IsPart(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
}

}  // namespace

absl::Status CheckCapability(std::string_view field, std::string_view id, std::string_view why) {
  const std::set<char> different(id.begin(), id.end());
  if (id.size() >= kCapabilityBytesMin && id.size() <= kCapabilityBytesMax &&
      std::ranges::all_of(id, IsPart) && different.size() >= kDifferentMin) {
    return absl::OkStatus();
  }
  return InvalidArgument(ToAbsl(field), ": must be at least 128 random bits, as ",
                         kCapabilityBytesMin, " to ", kCapabilityBytesMax,
                         " characters of A-Z, a-z, 0-9, - and _: ", ToAbsl(why));
}

}  // namespace bandana::server
