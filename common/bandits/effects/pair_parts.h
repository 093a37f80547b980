// Which users and arms the pairs of one effect have: the key of a pair is a digest, which does not
// tell.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "common/bandits/effects/kept_values.h"
#include "common/base/bytes.h"
#include "common/ranking/effect_key.h"

namespace bandana {

// 16 bytes per pair, and a byte of the table. Not thread-safe; const methods are while nobody
// writes.
class PairParts {
 public:
  struct Pair {
    EffectKey user = kAbsent;  // a part of the user: the user itself or the value of a group
    EffectKey arm = kAbsent;   // the same of the arm
    friend bool operator==(const Pair&, const Pair&) = default;
    friend bool operator<(const Pair& a, const Pair& b) {
      return std::tie(a.user, a.arm) < std::tie(b.user, b.arm);
    }
    template <typename H>
    friend H AbslHashValue(H h, const Pair& pair) {
      return H::combine(std::move(h), pair.user, pair.arm);
    }
    EffectKey key() const { return PairKey(user, arm); }
  };
  using Keys = absl::flat_hash_set<EffectKey>;

  std::uint64_t size() const { return pairs_.size(); }
  std::size_t bytes() const { return pairs_.capacity() * (sizeof(Pair) + 1); }

  void Add(const Pair& pair) {
    Keep(pair);
    pairs_.insert(pair);
  }
  void Remove(const Pair& pair) {
    Keep(pair);
    pairs_.erase(pair);
  }
  // Every pair that has one of the keys as a part, in no order. Goes over all pairs, some 10 ns
  // each.
  std::vector<Pair> With(const Keys& keys) const;

  // The number of pairs, then the two parts of each, ascending.
  void Encode(ByteWriter& out) const { EncodeState(TakeState(), out); }
  // From Freeze to Thaw, TakeState is that at Freeze.
  void Freeze() { kept_.Begin(); }
  void Thaw() { kept_.End(); }
  using State = std::vector<Pair>;  // in no order
  State TakeState() const;
  static void EncodeState(State state, ByteWriter& out);
  // Errors: DATA_LOSS, and there are no pairs.
  absl::Status Decode(ByteReader& in);

  template <typename Body>
  bool AllOf(const Body& body) const {
    return std::all_of(pairs_.begin(), pairs_.end(), body);
  }

 private:
  struct Nothing {};
  void Keep(const Pair& pair) {
    kept_.Changing(pair,
                   [&] { return pairs_.contains(pair) ? std::optional(Nothing{}) : std::nullopt; });
  }

  absl::flat_hash_set<Pair> pairs_;
  KeptValues<Pair, Nothing> kept_;
};

}  // namespace bandana
