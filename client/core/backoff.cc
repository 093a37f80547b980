#include "client/core/backoff.h"

#include <algorithm>
#include <cmath>

namespace bandana::device {

absl::Duration Backoff(const BackoffOptions& options, int attempt, std::uint64_t random) {
  const absl::Duration cap =
      std::min(options.max, options.min * std::ldexp(1.0, std::clamp(attempt, 0, 30)));
  const double unit = std::ldexp(static_cast<double>(random >> 11), -53);
  return cap * (0.5 + 0.5 * unit);
}

absl::Duration BackoffWithPushback(const BackoffOptions& options, int attempt, std::uint64_t random,
                                   std::optional<absl::Duration> pushback) {
  const absl::Duration pause = Backoff(options, attempt, random);
  if (!pushback) return pause;
  if (*pushback < absl::ZeroDuration()) return options.max;
  return std::max(pause, std::min(*pushback, absl::Minutes(1)));
}

Verdict VerdictOf(absl::StatusCode code, int reports) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return reports > 1 ? Verdict::kSplit : Verdict::kReject;
    default:
      return Verdict::kRetry;
  }
}

}  // namespace bandana::device
