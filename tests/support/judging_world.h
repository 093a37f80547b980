// Worlds whose every arm's expected reward is known, and a model that learns from what it logs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/decisions/logged_decision.h"
#include "common/judging/judged_policy.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {

enum class WorldLaw { kUniform, kUniformMix, kSoftmax, kInverseGap, kThompson };
inline constexpr WorldLaw kWorldLaws[] = {WorldLaw::kUniform, WorldLaw::kUniformMix,
                                          WorldLaw::kSoftmax, WorldLaw::kInverseGap,
                                          WorldLaw::kThompson};
const char* NameOf(WorldLaw law);

// 5 arms, 8 contexts, rewards 0 or 1 with probability base exp(0.6 N(0, 1)), at most 0.95; base is
// 0.03, 0.1 or 0.3. Laws: uniform; uniform_mix 0.1; softmax, p ~ exp(1.2 N(0, 1)), fixed;
// inverse_gap 20; Thompson sampling of 100 draws, with share 0.1.
struct WorldOptions {
  WorldLaw law = WorldLaw::kUniform;
  double epsilon = 0;  // rewards are released by randomized response; 0: raw
  std::uint64_t seed = 1;
  std::size_t slots = 1;  // a list of so many arms, no two alike
  // A click ends the list: later slots get none. Else rewards of slots are independent.
  bool click_stops = false;
};

class JudgingWorld {
 public:
  static constexpr int kArms = 5;
  static constexpr int kContexts = 8;
  using Means = std::array<double, kArms>;

  explicit JudgingWorld(const WorldOptions& options);

  // Fills the next decision, with a reward that has come, and learns from it.
  void Next(LoggedDecision& decision);

  // The last decision.
  int context() const { return context_; }
  const Means& means() const { return means_[static_cast<std::size_t>(context_)]; }
  // The expected reward of a list of one slot whose arm has this law.
  double Value(const std::vector<double>& law) const;
  // The arm of the highest mean in the last decision's context.
  int best() const;
  // The variance of a reward as logged, given the arm.
  double VarianceOf(int arm) const;

 private:
  double PosteriorMean(int arm) const;
  std::vector<double> LawOf(const std::vector<double>& q, const std::vector<bool>& taken);
  double Released(bool click);
  int Draw(const std::vector<double>& law);

  const WorldOptions options_;
  TestRng rng_;
  double low_ = 0;  // of released values
  double base_ = 0;
  std::array<Means, kContexts> means_{};
  std::array<Means, kContexts> weights_{};  // of the fixed softmax
  std::array<std::array<double, kArms>, kContexts> sums_{}, counts_{};
  int context_ = 0;
  std::uint64_t number_ = 0;
};

// A policy of a test: the law of the decision that was last made.
class WorldPolicy : public JudgedPolicy {
 public:
  using LawOf = std::function<void(const SlotView&, std::vector<double>&)>;
  WorldPolicy(std::string name, LawOf law) : JudgedPolicy(std::move(name)), law_(std::move(law)) {}
  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    law.assign(view.slot().arms(), 0);
    law_(view, law);
    return true;
  }

 private:
  const LawOf law_;
};

}  // namespace bandana::testing
