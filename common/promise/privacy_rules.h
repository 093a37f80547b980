// The rules of a model's privacy fields, the same on the server (Privacy) and on the device
// (GetModelResponse).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/promise/field_checks.h"
#include "common/promise/mode.h"
#include "common/promise/public_spec.h"

namespace bandana {

// Defaults of CounterPolicy.
inline constexpr std::uint64_t kCounterHorizonDefault = 10'000;
inline constexpr std::uint64_t kPlannedEventsDefault = 1000;  // Privacy.planned_events_per_user
inline constexpr std::uint64_t kCounterStepsMax = std::uint64_t{1} << 30;

// Events that a user is planned for.
std::uint64_t PlannedEvents(const v1::Privacy& privacy);

// A mistake unless the mechanism is for the mode; it names those that are.
void CheckMode(v1::Mechanism mechanism, v1::Mode mode, const FieldChecks& checks);
// Largest dimension of its models.
int DimensionMax(v1::Mechanism mechanism);
// The names of the mechanisms for the mode, as a list for messages.
std::string MechanismNames(v1::Mode mode);

// `kind` one that this version knows; `horizon` in [1, 2^30]; `steps_max` in [horizon, 2^30].
// Mistakes are reported below `field`. Nothing is filled in.
CounterSpec CheckCounter(std::string_view field, const v1::CounterPolicy& policy,
                         const FieldChecks& checks);

// Unset fields take their defaults.
v1::CounterPolicy WithDefaults(v1::CounterPolicy policy);
v1::CounterPolicy CounterToProto(const CounterSpec& counter);

}  // namespace bandana
