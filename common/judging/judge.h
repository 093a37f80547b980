// Judges policies by a log: decisions in, sums out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/judging/arm_means.h"
#include "common/judging/judged_policy.h"
#include "common/judging/judged_unit.h"
#include "common/judging/pair_sums.h"
#include "common/judging/propensity_test.h"

namespace bandana {

// A value, or the difference of two policies' values: positions in the judge's policies.
struct JudgedPair {
  std::size_t policy = 0;
  std::int64_t against = -1;  // or none
};

struct JudgeOptions {
  RewardScale scale;
  RewardRange range;       // of raw rewards: predictions are clipped to it
  double unreported = 0;   // the reward of decisions without a report
  std::uint64_t used = 0;  // decisions that will come
  double alpha = 0.05;     // error of each pair's interval
  ListWeights lists = ListWeights::kPrefix;
};

// Decisions that only choose k and r, and are left out of anytime rows: max(200, 5 %).
constexpr std::uint64_t DesignDecisions(std::uint64_t used) {
  return std::max<std::uint64_t>(200, used / 20);
}

// All sums of one pair.
struct PairJudgement {
  // Bounds of the mean of sum_j c_j y'_j from below, and of its negative.
  struct Sides {
    BoundDesign lower_design, upper_design;
    AnytimeBound lower, upper;
  };
  PairSums all;                 // all decisions
  PairSums tail;                // without the first DesignDecisions
  Sides ips, dr;                // of the tail
  std::uint64_t undefined = 0;  // decisions that a policy chooses nothing in
};

// Goes over a log once. Not thread-safe. Cost per decision of 25 arms: about 0.3 us per pair.
class Judge {
 public:
  Judge(JudgeOptions options, std::vector<std::unique_ptr<JudgedPolicy>> policies,
        std::vector<JudgedPair> pairs);

  // A decision that Survey does not leave out. A policy that fails is asked no more: failure() says
  // why, and its pairs have no more decisions.
  void Add(const LoggedDecision& decision);
  // After the last decision: asks the policies whether the log was one for them.
  void Finish();
  const absl::Status& failure(std::size_t policy) const { return failures_[policy]; }

  const JudgeOptions& options() const { return options_; }
  const JudgedPolicy& policy(std::size_t at) const { return *policies_[at]; }
  const std::vector<JudgedPair>& pairs() const { return pairs_; }
  const PairJudgement& judgement(std::size_t pair) const { return judgements_[pair]; }
  const PropensityTest& propensities() const { return propensities_; }
  // log(2 / alpha): both sides of an interval share its error.
  double log_threshold() const { return log_threshold_; }
  bool own_predictions() const { return own_predictions_; }  // the log had none

 private:
  void SetUnit(const LoggedDecision& decision);
  void SetPredictions(const LoggedSlot& logged, JudgedSlot& judged);
  absl::Status SetLaws(JudgedPolicy& policy, UnitLaws& laws);
  void Ask(std::size_t policy);
  void AddPair(const JudgedPair& pair, bool design, PairJudgement& judgement);
  void EndDesign();

  const JudgeOptions options_;
  const std::vector<std::unique_ptr<JudgedPolicy>> policies_;
  // Stands in where a list has gone a way that the policy cannot: its weight there is 0.
  const std::unique_ptr<JudgedPolicy> logging_;
  const std::vector<JudgedPair> pairs_;
  const double log_threshold_;
  const std::uint64_t design_;  // decisions
  std::uint64_t count_ = 0;
  JudgedUnit unit_;
  std::vector<UnitLaws> laws_;          // by policy
  std::vector<absl::Status> failures_;  // by policy
  PairUnit pair_unit_;
  std::vector<PairJudgement> judgements_;
  PropensityTest propensities_;
  ArmMeans means_;
  bool own_predictions_ = false;
  Moments reward01_;
};

}  // namespace bandana
