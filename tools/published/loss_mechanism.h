// One bounded number released once, by the mechanism that adds the least noise.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/mechanisms/guarantee.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/random/bit_source.h"
#include "tools/published/scalar_gaussian.h"

namespace bandana {

enum class LossMechanismKind {
  kAuto,        // the one with the smaller variance
  kRandomizer,  // RewardRandomizer: pure epsilon
  kGaussian,    // ScalarGaussian: (epsilon, delta)
};

// A value that may leave the device: an output of the randomizer, or a noisy grid point.
class PerturbedLoss {
 public:
  std::int64_t code() const { return code_; }

 private:
  friend class LossMechanism;
  explicit PerturbedLoss(std::int64_t code) : code_(code) {}
  std::int64_t code_;
};

// The local mechanism of every bandit of [Z20] whose feedback is one number: the loss of an arm or
// of a point (Algorithm 1), the clipped difference of two (Algorithm 2).
//
// Privacy:  epsilon (randomizer) or (epsilon, delta) (Gaussian) in that number, one release per
//           event. Proof: docs/privacy/scalar_loss.md.
// Threads:  immutable, const methods are safe, given a source each.
class LossMechanism {
 public:
  struct Options {
    Epsilon epsilon;
    Delta delta;  // 0: kAuto takes the randomizer
    RewardRange range;
    bool binary = false;  // every number is range.min or range.max (others are rounded to one)
    LossMechanismKind kind = LossMechanismKind::kAuto;
  };
  // Errors: INVALID_ARGUMENT, of the mechanism that was asked for.
  static absl::StatusOr<LossMechanism> Create(const Options& options);

  LossMechanismKind kind() const;  // never kAuto
  std::string_view name() const;   // "randomized response", "stochastic rounding", ..
  const RewardRange& range() const { return range_; }

  // Clips, then draws once. `default_value` stands for a missing or NaN number. The caller has
  // debited the cost durably before. Errors: UNAVAILABLE entropy failed, nothing returned.
  absl::StatusOr<PerturbedLoss> Release(const RawReward& value, double default_value,
                                        BitSource& bits) const;

  // Unbiased for the clipped number. Errors: INVALID_ARGUMENT a code that no release has.
  absl::StatusOr<double> ValueOf(std::int64_t code) const;
  double Value(const PerturbedLoss& loss) const { return ValueOfOwn(loss.code()); }

  // The largest variance of a released value given the number.
  double VarianceMax() const;
  // s2 such that a released value of any random number in the range is s2-sub-Gaussian about its
  // mean: (largest - smallest output)^2 / 4, or width^2 / 4 + sigma^2 [Hoeffding's lemma; CKS20].
  double VarianceProxy() const;
  // Outputs of a randomizer lie in it; the range itself for a Gaussian.
  RewardRange OutputRange() const;

 private:
  using Mechanism = std::variant<RewardRandomizer, ScalarGaussian>;
  LossMechanism(const RewardRange& range, Mechanism mechanism)
      : range_(range), mechanism_(std::move(mechanism)) {}
  double ValueOfOwn(std::int64_t code) const;
  RewardRange range_;
  Mechanism mechanism_;
};

}  // namespace bandana
