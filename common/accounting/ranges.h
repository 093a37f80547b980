// The ranges that all curves of this room have in common.
#pragma once

#include "absl/status/status.h"
#include "common/accounting/types.h"
#include "common/base/status.h"

namespace bandana {

// The largest epsilon that a mechanism is calibrated to, nats.
inline constexpr double kCalibrationEpsilonMax = 1000;

// Errors: INVALID_ARGUMENT delta is not in (0, 1).
inline absl::Status CheckDelta(Delta delta) {
  if (delta.value > 0 && delta.value < 1) return absl::OkStatus();
  return InvalidArgument("delta must be in (0, 1), got ", delta.value);
}

}  // namespace bandana
