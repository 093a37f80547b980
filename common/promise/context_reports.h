// A mechanism for private contexts as both sides use it: the device draws one report per event, and
// the server reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "common/accounting/composition.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/statistics_chain.h"
#include "common/promise/public_spec.h"
#include "common/random/bit_source.h"

namespace bandana {

// A report as it leaves the device.
using PerturbedContext = std::variant<PerturbedDirection, PerturbedStatistics>;

// A report as it arrives: one of the two is empty.
struct ContextReport {
  std::string_view seed;
  std::span<const std::int64_t> values;
};

// The bound on what a report says of a reward: StraightReward of the range's ends.
double ReportedRewardAbsMax(const PublicSpec& spec);

// x is clipped to feature_l2_max and r to ReportedRewardAbsMax; phi is as in
// docs/design/mechanisms.md#private-contexts. Immutable. Threads: const methods are safe, given a
// source each.
class ContextReports {
 public:
  explicit ContextReports(const JointStatistic& statistic) : statistic_(statistic) {}
  virtual ~ContextReports() = default;

  // Clips an event for Draw.
  const JointStatistic& statistic() const { return statistic_; }
  // The cost of one report: pure epsilon, or rho of a Gaussian, which composes without slack.
  virtual PrivacyCost cost() const = 0;
  // Largest variances of a decoded report's entries.
  virtual ReportVariance variance() const = 0;
  // Facts that device and server must agree on, beside the fields that it was made from: the
  // meaning of a report's bytes.
  virtual ContextSpec spec() const = 0;

  // A report's bytes of seed and numbers of values: one of the two is 0.
  virtual std::size_t seed_size() const = 0;
  virtual std::size_t values_size() const = 0;

  // Draws once. The caller has debited the cost durably before. Errors: UNAVAILABLE entropy
  // failed, nothing returned.
  virtual absl::StatusOr<PerturbedContext> Draw(const ClippedStatistics& statistics,
                                                BitSource& bits) const = 0;

  // Whether a device that follows the protocol can have released it.
  virtual bool Fits(const ContextReport& report) const = 0;
  // Unbiased, in units of the data. Errors: DATA_LOSS it does not fit; UNAVAILABLE the cipher
  // failed.
  virtual absl::StatusOr<JointEstimate> Decode(const ContextReport& report) const = 0;

 private:
  JointStatistic statistic_;
};

}  // namespace bandana
