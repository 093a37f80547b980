// The continual counter of joint privacy: noisy prefix sums of phi(x, r) = (x x' packed, r x).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/composition.h"
#include "common/accounting/types.h"
#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/counter_kind.h"
#include "common/mechanisms/counters/increment.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/statistics_chain.h"

namespace bandana {

// The sum of the releases so far, in the units of the data.
struct JointSums {
  std::vector<double> gram;    // S^p: lower triangle row by row, d (d + 1) / 2
  std::vector<double> moment;  // beta^p: d
  std::uint64_t covered = 0;   // events in them
  double gram_variance = 0;    // v_S, of a diagonal entry; half of it beside the diagonal
  double moment_variance = 0;  // v_beta, of an entry
};

// Everything public about the counter, fixed before its first step; encoder and decoder are those
// of every counter (CounterEncoder, CounterDecoder).
//
// Privacy: all releases up to the cap together are (epsilon, delta)-differentially private in one
//   event's (x, r), replaced by any other, also when later events depend on earlier releases. With
//   actions that are functions of the releases and of a round's own decision set that is joint
//   differential privacy of a round. Proof: docs/privacy/joint_counter.md. Label: proven.
// Immutable. Threads: safe.
class JointCounter {
 public:
  struct Options {
    // Changes privacy.
    int dimension = 0;          // d, [1, kDimensionMax]
    double context_l2_max = 1;  // L; longer x are scaled down to it
    double reward_abs_max = 1;  // R; r is clipped to [-R, R]
    Epsilon epsilon;            // (0, kEpsilonResearchMax]
    Delta delta;                // (0, 1)
    // Changes accuracy.
    CounterKind kind = CounterKind::kEpochs;          // kEpochs or kBlt
    std::uint64_t horizon = 1'000'000;                // blt: where its largest error is the least
    std::uint64_t step_cap = std::uint64_t{1} << 30;  // events; none is taken past it
  };
  // The noise is the lesser of two: that of the exact Gaussian curve, with what the integer
  // sampler adds to delta taken off, and that of zCDP. Errors: INVALID_ARGUMENT.
  static absl::StatusOr<JointCounter> Create(const Options& options);

  const Options& options() const { return options_; }
  const CounterDesign& design() const { return design_; }
  // The cost of all steps up to the cap together: debited once, before the first.
  const PrivacyCost& cost() const { return cost_; }

  // The only way from raw data into the counter. NaN, infinite or missing values count as 0, as do
  // features of another length: nothing about the values is ever an error.
  ClippedIncrement Clip(const RawInteraction& interaction) const;

  // Post-processing. `decoder` is one of design().
  JointSums Read(const CounterDecoder& decoder) const;
  // Predicts those variances at a step, before one is taken.
  JointSums Predict(std::uint64_t step) const;

 private:
  JointCounter(const Options& options, const JointStatistic& statistic, const CounterDesign& design,
               const PrivacyCost& cost);

  Options options_;
  JointStatistic statistic_;
  CounterDesign design_;
  PrivacyCost cost_;
};

}  // namespace bandana
