// When to try again, and whether: pure rules of delivery.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace bandana::device {

struct BackoffOptions {
  absl::Duration min;
  absl::Duration max;
};

// The pause after failed attempt number `attempt` (0 = the first): uniform in [cap/2, cap] with
// cap = min(max, min 2^attempt), by the random word.
absl::Duration Backoff(const BackoffOptions& options, int attempt, std::uint64_t random);

// As Backoff, but not shorter than what the server asked for (grpc-retry-pushback-ms), which is
// believed up to a minute. A negative pushback ("do not retry") waits the longest pause.
absl::Duration BackoffWithPushback(const BackoffOptions& options, int attempt, std::uint64_t random,
                                   std::optional<absl::Duration> pushback);

// The consequence of a failed delivery for its reports.
enum class Verdict {
  kRetry,   // the same bytes again
  kSplit,   // one report may spoil the others: send them one by one
  kReject,  // the server will never take them
};

// `reports` in the delivery, >= 1. Only answers that bind the server to a refusal end a report;
// everything that a proxy, a restart or a wrong key could cause is tried again.
Verdict VerdictOf(absl::StatusCode code, int reports);

}  // namespace bandana::device
