#include "server/models/aliases/share_of.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "common/base/bytes.h"
#include "common/base/sha256.h"

namespace bandana::server {
namespace {

// In (0, 1), from 53 bits of the hash.
double HashOf(std::string_view alias, std::string_view model, std::string_view user) {
  thread_local Sha256 hash;
  thread_local std::string lengths;
  lengths.clear();
  ByteWriter writer(lengths);
  writer.U64(alias.size());
  writer.U64(model.size());
  hash.Update("bandana-alias-1").Update(lengths).Update(alias).Update(model).Update(user);
  const Sha256Digest digest = hash.Finish();
  std::uint64_t bits = 0;
  std::memcpy(&bits, digest.data(), sizeof bits);
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

std::size_t ShareOf(const AliasSpec& alias, std::string_view user) {
  if (alias.shares.size() == 1) return 0;
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < alias.shares.size(); ++i) {
    const AliasShare& share = alias.shares[i];
    const double time = -std::log(HashOf(alias.name, share.model, user)) / share.weight;
    if (!(time < least)) continue;
    least = time;
    best = i;
  }
  return best;
}

}  // namespace bandana::server
