// The rules of a model's privacy fields, the same on the server (Privacy) and on the device
// (GetModelResponse).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/promise/field_checks.h"
#include "common/promise/mode.h"
#include "common/promise/model_message.h"
#include "common/promise/public_spec.h"

namespace bandana {

inline constexpr std::uint64_t kCounterStepsMax = std::uint64_t{1} << 30;

// A mistake unless the mechanism is for the mode; it names those that are.
void CheckMode(MechanismId mechanism, Mode mode, const FieldChecks& checks);
// Largest dimension of its models.
int DimensionMax(MechanismId mechanism);
// The names of the mechanisms for the mode, as a list for messages.
std::string MechanismNames(Mode mode);

// The delta of a policy in force: 0, or where the noise is Gaussian in (0, kDeltaPolicyMax], with
// `research` below 1.
Delta CheckDelta(const MechanismRow& row, double delta, bool research, const FieldChecks& checks);

// `kind` one that this version knows; `horizon` in [1, 2^30]; `steps_max` in [horizon, 2^30].
// Mistakes are reported below `field`. Nothing is filled in.
CounterSpec CheckCounter(std::string_view field, const wire::CounterPolicy& policy,
                         const FieldChecks& checks);

}  // namespace bandana
