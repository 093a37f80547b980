// An audit of the whole system: rewards go in at one end, through the SDK, the wire, the log and
// the learning, and the attacker reads the posterior that comes out at the other.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tools/audit/runner.h"
#include "tools/audit/subject.h"

namespace bandana::audit {

struct EndToEndOptions {
  std::string target;  // host:port of a running server
  // A LOCAL_REWARD model with the reward randomizer, independent users, one report per decision.
  std::string model;
};

struct EndToEndResult {
  Claim claim;  // what the server announces
  AuditResult result;
};

inline constexpr Subject kEndToEndSubject = {
    "end-to-end",
    Standing::kProven,
    ClaimKind::kPure,
    true,
    "one decision of a new user; the sign of the posterior mean",
    nullptr};

// Each trial is one decision of a user seen only here, with the reward at one end of its range. The
// event is that the user's posterior mean, fetched through the SDK, lies above the middle of what a
// pilot of 200 users showed. The audit of a binary model is sharp; of another one it loses some.
// Uses of `options`: trials, alpha, and threads as the number of decisions under way; the noise is
// the SDK's own.
// Errors: INVALID_ARGUMENT; those of Client::Connect; FAILED_PRECONDITION the model is of another
// kind; UNAVAILABLE a call failed, or a report did not show within 30 s.
absl::StatusOr<EndToEndResult> RunEndToEnd(const EndToEndOptions& server,
                                           const AuditOptions& options);

}  // namespace bandana::audit
