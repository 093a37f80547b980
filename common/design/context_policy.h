// The mechanism of a model whose contexts are private, from its public configuration: the device
// draws by it and the server reads by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "common/accounting/composition.h"
#include "common/bandits/context_statistics.h"
#include "common/design/mechanisms/joint_gaussian.h"
#include "common/design/mechanisms/privunit.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/privunit.h"

namespace bandana {

// x is clipped to feature_l2_max and r to ReportedRewardAbsMax; phi is as in
// docs/design/mechanisms.md#private-contexts. Immutable. Threads: const methods are safe, given a
// source each.
class ContextMechanism {
 public:
  // Reads dimension, feature_l2_max, reward_range, mechanism, epsilon and delta. Errors:
  // INVALID_ARGUMENT another mechanism than PRIVUNIT and JOINT_GAUSSIAN, or parameters that it
  // cannot serve. Cost: up to 20 ms at d = 256.
  static absl::StatusOr<ContextMechanism> Create(const PublicSpec& spec);

  const JointStatistic& statistic() const { return statistic_; }
  // Exactly one of the two is there.
  const PrivUnit* privunit() const { return privunit_ ? &*privunit_ : nullptr; }
  const GaussianMechanism* gaussian() const { return gaussian_ ? &*gaussian_ : nullptr; }

  // What one report costs: pure epsilon, or rho of the Gaussian, which composes without slack.
  PrivacyCost cost() const;
  // Largest variances of a decoded report's entries.
  ReportVariance variance() const;
  // What device and server must agree on, beside the fields that it was made from: what a report's
  // bytes mean.
  ContextSpec spec() const;

  // Errors: UNAVAILABLE the cipher failed. Requires privunit().
  absl::StatusOr<JointEstimate> Decode(const PublicSeed& seed) const;
  // Whether a device that follows the protocol can have released it: as many integers as phi has
  // coordinates, each within phi's bound and 64 deviations of the noise. Requires gaussian().
  bool Fits(std::span<const std::int64_t> values) const;
  // Requires Fits.
  JointEstimate Decode(std::span<const std::int64_t> values) const;

 private:
  explicit ContextMechanism(const JointStatistic& statistic) : statistic_(statistic) {}
  JointStatistic statistic_;
  std::optional<PrivUnit> privunit_;
  std::optional<GaussianMechanism> gaussian_;
};

}  // namespace bandana
