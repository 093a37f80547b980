// The plaintext of a decision token.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/service/tokens/asked_decision.h"

namespace bandana::server {

// Appends the encoding. Numbers are little endian; doubles keep their bits.
//   instance 16 | decision id 16 | epoch 8 | time, microseconds since 1970, 8 | node 4 | user
//   length 1, user | arms 1, + 128 with windows, + 64 with a rank that is not the first, + 32 with
//   an alias | dimension 2, + 32768 with keys, + 16384 with marks | [keys 1] | [marks 1: 1
//   deferred, 2 the first arm is the caller's own, 4 and the model would have chosen it, 8 the one
//   arm is that of the rank below and the decision had more ranks] | arms times: propensity 8, [low
//   8, high 8 of the window,] features 8 d, [keys 8 times their number] | [rank 1] | [alias: length
//   1, name, length 1, name of its model] | [zeros]
// Requires what DecodeDecision checks. `asked` may be null. With `ranks` other than 0 zeros fill it
// up to the longest encoding of so many arms of this shape, of this user and alias.
void EncodeDecision(const Decision& decision, const AskedAlias* asked, std::size_t ranks,
                    std::string& out);
inline void EncodeDecision(const Decision& decision, std::string& out) {
  EncodeDecision(decision, nullptr, 0, out);
}

// The inverse. Total: nullopt on anything that is not one encoding, and zeros, with 1 to
// kSealedRanksMax arms of one dimension in [1, kSparseDimensionMax], kRankedFeaturesMax features in
// all, user at most kUserIdBytesMax bytes, node >= -1, features finite, propensities in [0, 1],
// windows finite with low < high, names of 1 to kModelNameBytesMax bytes.
std::optional<AskedDecision> DecodeDecision(std::string_view bytes);

}  // namespace bandana::server
