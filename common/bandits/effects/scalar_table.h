// The blocks of one effect of the constant 1: per key a Gaussian belief about one number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/bandits/effects/effect_key.h"
#include "common/base/bytes.h"

namespace bandana {

// Not thread-safe; const methods are while nobody writes.
class ScalarTable {
 public:
  struct Cell {
    float mean = 0;
    float variance = 0;
  };

  // `prior_variance` > 0, finite.
  explicit ScalarTable(float prior_variance) : prior_variance_(prior_variance) {}

  std::uint64_t blocks() const { return cells_.size(); }
  std::size_t bytes() const;

  void Prefetch(EffectKey key) const { cells_.prefetch(key); }
  bool Has(EffectKey key) const { return cells_.contains(key); }
  // The prior for a key without events.
  Cell Find(EffectKey key) const;
  // The same, kept from now on. The reference lives until the next call of Open, Erase or Decode.
  Cell& Open(EffectKey key);
  // The update for an error of `gain` times the `variance` that was believed of it.
  static void Learn(Cell& cell, float gain, float variance);
  // Back to the prior.
  void Erase(EffectKey key) { cells_.erase(key); }

  // All cells in the order of their keys.
  void Encode(ByteWriter& out) const;
  // Errors: DATA_LOSS, and the table is empty.
  absl::Status Decode(ByteReader& in);

 private:
  float prior_variance_;
  absl::flat_hash_map<EffectKey, Cell> cells_;
};

}  // namespace bandana
