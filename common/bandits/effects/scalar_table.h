// The blocks of one effect of the constant 1: per key a Gaussian belief about one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/bandits/effects/forgetting.h"
#include "common/bandits/effects/kept_values.h"
#include "common/base/bytes.h"
#include "common/ranking/effect_key.h"

namespace bandana {

// Not thread-safe; const methods are while nobody writes.
class ScalarTable {
 public:
  struct Belief {
    float mean = 0;
    float variance = 0;
  };
  // The sum of the events: N(m, V) with 1/V = 1/p + weight and m = V sum. The prior is not in it.
  struct Cell {
    float sum = 0;
    float weight = 0;
  };

  // `prior_variance` > 0, finite.
  explicit ScalarTable(float prior_variance)
      : prior_variance_(prior_variance), frozen_prior_(prior_variance) {}

  std::uint64_t blocks() const { return cells_.size(); }
  std::size_t bytes() const;

  void Prefetch(EffectKey key) const { cells_.prefetch(key); }
  bool Has(EffectKey key) const { return cells_.contains(key); }
  Cell Find(EffectKey key) const;
  // As Find, but kept from now on. The reference lives until the next call of Open, Erase or
  // Decode.
  Cell& Open(EffectKey key) {
    Keep(key);
    return cells_[key];
  }
  Belief BeliefOf(const Cell& cell) const {
    const float variance = 1 / (1 / prior_variance_ + cell.weight);
    return {.mean = variance * cell.sum, .variance = variance};
  }
  // An observation of the cell's number with a noise of `variance`.
  static void Learn(Cell& cell, float observed, float variance) {
    cell.sum += observed / variance;
    cell.weight += 1 / variance;
  }
  // One step of forgetting: towards the prior. In sum and weight, with 1/V = 1/p + weight before.
  void Forget(Cell& cell, const Forgetting& forgetting) const {
    const float less = 1 + forgetting.renewed * prior_variance_ * cell.weight;
    cell.sum *= forgetting.kept / less;
    cell.weight *= forgetting.kept * forgetting.kept / less;
  }
  float prior_variance() const { return prior_variance_; }
  // Another prior for all cells from now on.
  void SetPrior(float prior_variance) { prior_variance_ = prior_variance; }
  // Back to the prior; whether there was a block.
  bool Erase(EffectKey key) {
    Keep(key);
    return cells_.erase(key) > 0;
  }

  // In no order.
  void ForEach(const std::function<void(EffectKey, const Belief&)>& visit) const;

  // The prior, then all cells in the order of their keys.
  void Encode(ByteWriter& out) const { EncodeState(TakeState(), out); }
  // From Freeze to Thaw, TakeState is that at Freeze.
  void Freeze();
  void Thaw() {
    frozen_ = false;
    kept_.End();
  }
  struct State {
    float prior_variance = 0;
    std::vector<std::pair<EffectKey, Cell>> cells;  // in no order
  };
  State TakeState() const;
  static void EncodeState(State state, ByteWriter& out);
  // Errors: DATA_LOSS, and the table is empty.
  absl::Status Decode(ByteReader& in);

 private:
  void Keep(EffectKey key) {
    kept_.Changing(key, [&]() -> std::optional<Cell> {
      const auto found = cells_.find(key);
      return found == cells_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  float prior_variance_;
  float frozen_prior_;
  bool frozen_ = false;
  KeptValues<EffectKey, Cell> kept_;
  absl::flat_hash_map<EffectKey, Cell> cells_;
};

}  // namespace bandana
