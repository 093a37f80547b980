// Local privacy of context and reward, pure epsilon: one report of 16 bytes that names a direction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/mechanisms/cap_design.h"
#include "common/mechanisms/guarantee.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/statistics_chain.h"
#include "common/random/bit_source.h"
#include "common/random/samplers.h"

namespace bandana {

// Variances of an estimate's entries, in squared units of the data.
struct JointVariance {
  double gram_diagonal = 0;
  double gram_off_diagonal = 0;
  double moment = 0;
};

// PrivUnit [PU] in seed form on phi(x, r) of JointStatistic.
//
// phi, D numbers of norm at most sqrt(2), is lifted to v = (phi, sqrt(2 - |phi|^2)) / sqrt(2) on
// the unit sphere of R^n, n = D + 1. Seeds are drawn from the device's generator until one is
// accepted: always if its public direction u(seed) has <u, v> >= g, else with probability e^-eps
// exactly. The report is the seed; sqrt(2) u / m estimates (phi, ..) without bias.
//
// Privacy:  epsilon-local differential privacy of one event's (x, r) together, replacement
//           neighbours, if directions of distinct seeds behave as independent uniform ones (SHA-256
//           and ChaCha20 as a random function); rounding is charged inside epsilon. With no
//           assumption at all: 2 epsilon. Proof: docs/privacy/privunit.md.
// Noise:    of phi, (2 / m^2 - 2) D / n in squared norm at g = m, the same in every direction:
//           815.7 / 207.6 / 36.7 at d = 10, eps = 1 / 2 / 5.
// Threads:  immutable, const methods are safe, given a source each.
// Cost:     1 / Z directions per report on average: 1.7 / 3.1 / 25 at eps = 1 / 2 / 5, at most
//           4096. Each takes 9 us at d = 10. Their number says nothing about (x, r).
class PrivUnit {
 public:
  static constexpr double kEpsilonMin = 1e-6;
  // epsilon in [kEpsilonMin, kEpsilonResearchMax]. Errors: INVALID_ARGUMENT epsilon; INTERNAL the
  // rounding does not fit into epsilon (fails closed).
  static absl::StatusOr<PrivUnit> Create(const JointStatistic& statistic, Epsilon epsilon);

  // The cost is pure epsilon: to be debited durably before Randomize. The hash covers what device
  // and server must agree on: dimension, g, the acceptance exponent.
  const MechanismDescriptor& descriptor() const { return descriptor_; }
  // Its epsilon is what is left after the slack, and what the acceptance uses.
  const CapDesign& design() const { return design_; }

  // Errors: INVALID_ARGUMENT statistics of another JointStatistic, nothing drawn; UNAVAILABLE
  // entropy failed or, with probability e^-256, no seed was accepted: nothing returned, the debit
  // stands.
  absl::StatusOr<PerturbedDirection> Randomize(const ClippedStatistics& statistics,
                                               BitSource& bits) const;

  // A report's estimate of x x^T and r x, unbiased, in units of the data; any 16 bytes decode.
  // Errors: UNAVAILABLE the cipher failed.
  absl::StatusOr<JointEstimate> Decode(const PublicSeed& seed) const;
  // Largest variances of Decode's entries, whatever (x, r): 2 (1 - g m) / (n m^2) an entry of phi.
  JointVariance EntryVariance() const;

 private:
  PrivUnit(const JointStatistic& statistic, Epsilon epsilon, const CapDesign& design,
           const ExactRatio& exponent);
  JointStatistic statistic_;
  CapDesign design_;
  ExactRatio exponent_;  // design_.epsilon, exactly
  MechanismDescriptor descriptor_;
};

}  // namespace bandana
