// Runs an attack many times on both neighbours and says what the hits prove.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "tools/audit/bounds.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

struct AuditOptions {
  Claim claim;
  std::uint64_t trials = 0;  // runs on each neighbour, [1, 1e11]
  double alpha = 1e-6;       // chance that a right mechanism is called wrong, (0, 0.5]
  int threads = 1;           // [1, 1024]
  // Draws come from the system's generator, as shipped. With a seed they come from a keyed stream
  // instead, and the counts do not depend on the number of threads: for tables that can be remade.
  // There is nothing private in an audit, its inputs are made up.
  std::optional<std::uint64_t> seed;
};

struct AuditResult {
  HitCounts hits;
  Epsilon lower;          // at confidence 1 - alpha
  bool violated = false;  // lower > claim
};

// Errors: INVALID_ARGUMENT an option out of range, or a claim that the mechanism does not take;
// UNAVAILABLE the source failed. Cost: 2 x trials runs of the mechanism over the threads.
absl::StatusOr<AuditResult> RunAudit(const Subject& subject, const AuditOptions& options);

// Judges the subject's claim by the given counts.
absl::StatusOr<AuditResult> Judge(ClaimKind kind, const Claim& claim, const HitCounts& hits,
                                  double alpha);

}  // namespace bandana::audit
