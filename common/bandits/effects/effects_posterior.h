// A model of effects that is read by many threads while one of them learns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/bandits/effects/effects_model.h"
#include "common/bandits/effects/pair_parts.h"
#include "common/bandits/model.h"
#include "common/base/bytes.h"
#include "common/ranking/effect_key.h"
#include "common/ranking/served_posterior.h"

namespace bandana {

// One event, with what its log entry says.
struct EffectsEvent {
  std::vector<EffectKey> parts;  // of the user, then of the arm
  std::vector<double> features;  // d
  double reward = 0;             // released
  double variance = 0;           // of the noise that the release added
};

// Whether an effect is of arms, and gives an arm more than a mean and a variance of its own: it is
// of their features, or of pairs of users and arms.
bool IsMoreThanShare(const Effect& effect, const EffectScope& scope);
// Whether its blocks are of pairs of a part of the user and a part of the arm.
bool IsPair(const EffectScope& scope);

// Keys of users, arms and values of groups: all that was learnt of them is to be forgotten.
struct FreedKeys {
  std::vector<EffectKey> keys;
};

// Events and freed keys are put in a queue, and reach the blocks, all of them in order, when Show
// is called: what may not be published yet is read by nobody. Threads: one writer; the methods for
// readers are safe beside it. A reader waits for one event at most, some microseconds.
class EffectsPosterior {
 public:
  struct Options {
    int dimension = 0;
    std::vector<Effect> effects;
    std::vector<EffectScope> scopes;  // one per effect
    int user_parts = 1;
    int arm_parts = 1;
    double reward_variance = 1;  // s2 of a reward, without what a mechanism adds
    std::uint64_t pairs_max = EffectsModel::kUnbounded;
    bool learn_scales = false;
    bool weights = false;
    ExplorationRule exploration;  // kConstant or kLog
  };
  // Errors: as EffectsModel::Create.
  static absl::StatusOr<std::shared_ptr<EffectsPosterior>> Create(Options options);

  // For the writer.
  void Add(EffectsEvent event) { queue_.emplace_back(std::move(event)); }
  // Puts back to the prior what was learnt of these keys alone and of every pair that one of them
  // is in: in its turn among the events. Goes over all pairs, some 10 ns each; readers do not wait
  // for that.
  void Free(FreedKeys freed) { queue_.emplace_back(std::move(freed)); }
  bool waiting() const { return !queue_.empty(); }
  void Show();
  // The whole state. Requires that no event waits.
  void Encode(ByteWriter& out) const;
  // Errors: DATA_LOSS no state of such a model; then nothing changed.
  absl::Status Decode(ByteReader& in);

  // For readers.
  const Options& options() const { return options_; }
  // The posterior of the user's coefficients: those of arms are left out.
  void Sum(std::span<const EffectKey> user, NodePosterior& out) const;
  // See ServedPosterior::Score.
  void Score(std::span<const EffectKey> user, const ArmsOnOffer& arms, NodePosterior& scratch,
             ArmScores& out) const;
  // See ServedPosterior::Law.
  std::optional<ScoreLaw> Law(std::span<const EffectKey> user, NodePosterior& scratch) const;
  // Whether what an arm has of its own is a sum over its parts: each effect of arms is a constant
  // and of one part alone, and where there are weights no two are of the same part.
  bool arms_apart() const { return arms_apart_; }
  // The reward that part `position` of an arm (0 the arm itself, then its groups) adds, before the
  // part's weight (PartWeights), where arms are apart.
  EffectsModel::Belief PartBelief(int position, EffectKey key) const;
  // The reward that all parts of an arm add, where arms are apart. A part that is not there is
  // absent.
  EffectsModel::Belief ArmBelief(std::span<const EffectKey> arm) const;
  // `watch` is told the parts of the arm of each event after it was shown, by the writer; of a
  // freed key that key at each part. Once, while nobody writes.
  using ArmWatch = std::function<void(std::span<const EffectKey> arm)>;
  void Watch(ArmWatch watch) { watch_ = std::move(watch); }
  // Those of `keys` of which something was learnt, alone or in a pair. Goes over all pairs; the
  // writer waits meanwhile.
  PairParts::Keys Known(std::span<const EffectKey> keys) const;
  // Everything learnt of the user, alone and in pairs: every effect of the user's key, of which
  // there is a block. Goes over all pairs; the writer waits meanwhile.
  struct UserBlock {
    std::string name;
    std::vector<double> mean;        // d numbers, or 1 of an effect of the constant
    std::vector<double> covariance;  // row-major
  };
  std::vector<UserBlock> OfUser(EffectKey user) const;
  // See ServedPosterior::Explain.
  void Explain(std::span<const EffectKey> user, const ArmsOnOffer& arms,
               std::vector<EffectShare>& out) const;
  // See ServedPosterior::PartsOfArms. A vector effect of arms counts as one number of the arm, its
  // product with the arm's features.
  std::size_t PartsOfArms(std::span<const EffectKey> user, const ArmsOnOffer& arms,
                          std::vector<ArmPart>& out) const;
  // See ServedPosterior::Look.
  std::vector<EffectLook> Look(std::size_t count) const;
  // Memory of the blocks, bytes.
  std::size_t bytes() const;
  std::uint64_t events() const;
  // The model's present size and counts.
  struct Figures {
    std::size_t bytes = 0;                // of memory
    std::uint64_t pairs = 0;              // blocks that count against pairs_max
    std::uint64_t freed = 0;              // keys of which something was forgotten, since Create
    std::vector<std::uint64_t> blocks;    // per effect
    std::vector<double> prior_variances;  // the same
    std::vector<float> weights;           // the same, as readers see them
  };
  Figures figures() const;
  std::uint64_t pairs() const;

 private:
  friend class FrozenEffects;
  EffectsPosterior(Options options, EffectsModel model);
  using Keys = std::vector<EffectKey>;  // one per effect
  // Keys of the effects that depend on the user alone; of the others kAbsent.
  void UserKeys(std::span<const EffectKey> user, Keys& keys) const;
  // Keys of the effects that depend on the arm, perhaps with the user; of the others kAbsent.
  void ArmKeys(std::span<const EffectKey> user, std::span<const EffectKey> arm, Keys& keys) const;
  double Alpha() const;  // requires mutex_
  void SumLocked(std::span<const EffectKey> user, NodePosterior& out) const;
  void Learn(const EffectsEvent& event);
  void Forget(const FreedKeys& freed);
  bool KnowsAlone(EffectKey key) const;  // requires mutex_
  // By arm part: the weight of its effect; empty where all are 1. Requires mutex_.
  std::vector<float> PartWeights() const;

  const Options options_;
  const bool arms_apart_;
  ArmWatch watch_;
  std::vector<std::variant<EffectsEvent, FreedKeys>> queue_;
  mutable std::shared_mutex mutex_;
  EffectsModel model_;
  std::vector<PairParts> pairs_;  // per effect: the blocks of pairs
  std::uint64_t events_ = 0;
  std::uint64_t freed_ = 0;
  bool frozen_ = false;  // there is a FrozenEffects
};

}  // namespace bandana
