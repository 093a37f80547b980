// A mixed-effects model: the reward of an event is a sum of effects of its user, its user's groups,
// its arm and so on, each with a Gaussian belief of its own, learnt in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/bandits/effects/block_table.h"
#include "common/bandits/effects/effect_weights.h"
#include "common/bandits/effects/forgetting.h"
#include "common/bandits/effects/learnt_scale.h"
#include "common/bandits/effects/scalar_table.h"
#include "common/base/bytes.h"
#include "common/ranking/effect_key.h"

namespace bandana {

// y = sum over effects t of z_t' beta_(t, key) + noise, beta ~ N(0, p_t I), where z_t is the
// features x of the event or the constant 1. A linear mixed-effects model (GLMix, Zhang et al., KDD
// 2016).
struct Effect {
  std::string name;
  bool vector = false;        // z is x; else the constant 1
  double prior_variance = 0;  // p
  // Its blocks count against `bounded_max`; a key without a block beyond it has no effect.
  bool bounded = false;
  // After so many further events of a key half of what was learnt of it is left: its coefficients
  // are believed to move, by the stationary process whose law is the prior. 0: they stay.
  std::uint64_t half_life = 0;
};

// Numbers per effect that a model learns beside its blocks; at most one of the two kinds.
struct EffectsAdapt {
  // The priors are where the scales begin, and move to what predicts better, 1,000, 2,000, 4,000
  // and so on events after the start. Not where rewards were clipped to windows that the widths
  // set: windows and scales would feed each other.
  bool scales = false;
  // Each effect is multiplied by a weight (effect_weights.h). Not there either.
  bool weights = false;
};

// The exact Bayes update of the product of the blocks for one event, and then the blocks'
// marginals: covariances between blocks are dropped (assumed-density filtering; Matchbox, WWW
// 2009). There is no bound on regret and none on the widths. A function of the sequence of calls,
// the same on every processor. Not thread-safe; const methods are while nobody writes, and share
// no memory that they write.
class EffectsModel {
 public:
  struct Belief {
    double mean = 0;
    double variance = 0;
  };

  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  // `noise_variance`: of a reward, without its randomizer. `bounded_max`: blocks that the bounded
  // effects may have together. Errors: INVALID_ARGUMENT names the effect: two of one name, a scale
  // that is not above 0 and finite, none at all; both scales and weights.
  static absl::StatusOr<EffectsModel> Create(int dimension, std::vector<Effect> effects,
                                             double noise_variance,
                                             std::uint64_t bounded_max = kUnbounded,
                                             EffectsAdapt adapt = {});

  const std::vector<Effect>& effects() const { return effects_; }
  int dimension() const { return dimension_; }

  // Everywhere `keys` has one key per effect, in their order; kAbsent leaves the effect out, and so
  // a caller asks for the effects of the user alone, or of an arm alone. `x`: dimension() features.

  // `noise_variance`: what the mechanism that released the reward adds, >= 0. Returns what was
  // believed of the reward before, its own noise included: log N(reward; mean, variance) summed
  // over events is the model's evidence.
  Belief Learn(std::span<const EffectKey> keys, std::span<const double> x, double reward,
               double noise_variance);

  // The belief about the expected reward.
  Belief Predict(std::span<const EffectKey> keys, std::span<const double> x) const;
  // belief += the same. Allocates nothing.
  void AddBelief(std::span<const EffectKey> keys, std::span<const double> x, Belief& belief) const;
  // The summed Gaussian of the vector effects: mean (d) and covariance (d x d, row-major,
  // symmetric).
  void SumVectors(std::span<const EffectKey> keys, std::span<double> mean,
                  std::span<double> covariance) const;
  // The sum of the constant effects. Allocates nothing.
  Belief SumConstants(std::span<const EffectKey> keys) const;
  // The belief of a constant effect's key before its weight.
  Belief Unweighted(int effect, EffectKey key) const;
  // Starts reading what the keys need into the cache: worth it for many keys at once.
  void Prefetch(std::span<const EffectKey> keys) const;

  // Back to the prior; its memory is free for others. Whether there was a block.
  bool Erase(int effect, EffectKey key);

  bool Has(int effect, EffectKey key) const;
  std::uint64_t blocks(int effect) const;   // that an event has touched
  std::uint64_t bounded_blocks() const;     // of the bounded effects together
  double prior_variance(int effect) const;  // the present one
  // By which readers see the effect: means times it, variances times its square. Changes at every
  // EffectWeights::kPublishEvents-th event.
  float weight(std::size_t effect) const { return weights_ ? weights_->shown(effect) : 1.0f; }
  std::size_t bytes() const;  // held

  // The `count` blocks of an effect with the largest means, largest first. Goes over all its
  // blocks.
  struct Block {
    EffectKey key = kAbsent;
    double mean = 0;   // reward units; of a vector effect its length
    double width = 0;  // reward units; 0 of a vector effect
  };
  std::vector<Block> Largest(int effect, std::size_t count) const;

  // The whole state: the same bytes for the same sequence of calls.
  void Encode(ByteWriter& out) const;
  // As Encode, in parts, for another thread: Head, then of each effect its EffectHead and its
  // table.
  std::string Head() const;
  std::string EffectHead(std::size_t effect) const;
  const BlockTable* blocks_of(std::size_t effect) const;  // nullptr: it has cells
  const ScalarTable* cells_of(std::size_t effect) const;  // nullptr: it has blocks
  // From Freeze to Thaw the tables give their state at Freeze.
  void Freeze();
  void Thaw();
  // Replaces the state by that of a model of equal dimension, effects and noise. Errors: DATA_LOSS,
  // and the state is that before any event.
  absl::Status Decode(ByteReader& in);

 private:
  EffectsModel(int dimension, std::vector<Effect> effects, double noise_variance,
               std::uint64_t bounded_max, EffectsAdapt adapt);

  // Whether an event or a prediction leaves the effect out.
  bool Leaves(std::size_t effect, EffectKey key) const {
    return key == kAbsent || (effects_[effect].bounded && IsBeyond(effect, key));
  }
  bool IsBeyond(std::size_t effect, EffectKey key) const;
  void LearnScales(double error, double variance);
  void StepScales();
  void Forget();
  void HoldSum(std::span<const std::size_t> learnt);
  void SetPrior(std::size_t effect);
  absl::Status DecodeTables(ByteReader& in);
  void Clear();

  int dimension_;
  std::vector<Effect> effects_;
  double noise_variance_;
  std::uint64_t bounded_max_;
  EffectsAdapt adapt_;
  std::uint64_t events_ = 0;
  std::vector<LearntScale> scales_;       // one per effect
  std::optional<EffectWeights> weights_;  // with adapt_.weights
  std::vector<Forgetting> forgetting_;    // one per effect
  // Each effect's table: position in one of the two lists.
  std::vector<std::size_t> table_;
  std::vector<BlockTable> vectors_;
  std::vector<ScalarTable> scalars_;
  // One Learn's scratch, per effect: where its belief lies (one of the two, or none), z'm and P z.
  std::vector<BlockTable::Place*> places_;
  std::vector<ScalarTable::Cell*> cells_;
  std::vector<float> parts_;
  std::vector<float> projected_;
};

}  // namespace bandana
