// Vectors of single functions: the files' contents, by name.
#pragma once

#include <map>
#include <string>

namespace bandana::vectors {

using Files = std::map<std::string, std::string>;

Files ValueFiles();
// The content of one of them.
std::string FeatureVectors();
// Lines of random tables and draws by them, for a comparison that is no vector: "table EPSILON_BITS
// BINARY DIGEST", each followed by lines "STEP WORD OUTPUT". Seeded.
std::string RandomDraws(int tables, int draws, std::uint64_t seed);

}  // namespace bandana::vectors
