// The rules of a model's privacy fields, the same on the server (Privacy) and on the device
// (GetModelResponse).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/design/field_checks.h"
#include "common/design/model_spec.h"

namespace bandana {

// Defaults of CounterPolicy.
inline constexpr std::uint64_t kCounterHorizonDefault = 10'000;
inline constexpr std::uint64_t kPlannedEventsDefault = 1000;  // Privacy.planned_events_per_user
inline constexpr std::uint64_t kCounterStepsMax = std::uint64_t{1} << 30;

// The private modes that this version knows.
bool IsPrivateMode(v1::Mode mode);
// Those in which the device makes what the server may see of an event.
inline bool IsLocalMode(v1::Mode mode) {
  return mode == v1::LOCAL_REWARD || mode == v1::LOCAL_CONTEXT;
}

// Those in which the server sees raw rewards and adds the noise.
inline bool IsCentralMode(v1::Mode mode) { return mode == v1::CENTRAL_REWARD || mode == v1::JOINT; }
// One counter over all users of a graph, with noise across them.
inline bool IsShaped(v1::Mechanism mechanism) {
  return mechanism == v1::SHAPED_COUNTER || mechanism == v1::POOLED_COUNTER;
}

// What a mechanism in force may be used for.
struct MechanismRule {
  v1::Mechanism mechanism = v1::MECHANISM_UNSPECIFIED;
  std::vector<v1::Mode> modes;
  bool pure = false;     // delta is 0; else above it
  bool counter = false;  // has a CounterPolicy
};
// nullptr: AUTO, or not one that this version knows.
const MechanismRule* FindMechanism(v1::Mechanism mechanism);
// Whether it is for the mode; a mistake names those that are.
void CheckMode(const MechanismRule& rule, v1::Mode mode, const FieldChecks& checks);
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

// `delta` of a mechanism in force: 0 for a pure one, else in (0, kDeltaPolicyMax], with `research`
// below 1.
Delta CheckDelta(double delta, v1::Mechanism mechanism, bool research, const FieldChecks& checks);

}  // namespace bandana
