// The privacy part of a ModelConfig.
#pragma once

#include <cstdint>

#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

// Fills mode, mechanism in force, epsilon, delta, counter and bounds of the public spec from
// spec.config. AUTO is taken for the first mechanism of the table that is for the mode and the
// family; a server's planner names another one in the configuration, and this is called again.
void ParsePrivacy(ModelSpec& spec, const FieldChecks& checks);

// ModeLimits::parse_privacy of private modes; and of the one that has none.
void ParsePrivate(ModelSpec& spec, const FieldChecks& checks);
void RefusePrivacy(ModelSpec& spec, const FieldChecks& checks);

// Events that a user is planned for.
inline constexpr std::uint64_t kPlannedEventsDefault = 1000;
std::uint64_t PlannedEvents(const v1::Privacy& privacy);

// Whether the choice of the mechanism is left to AUTO.
bool AsksForAuto(const v1::ModelConfig& config);

// Whether mode, family, coupling and mechanism go together. Requires that every field is right by
// itself.
void CheckTogether(const ModelSpec& spec, const FieldChecks& checks);

// Makes the mechanism in force and fills what follows from it. Requires CheckTogether.
void MakeInForce(ModelSpec& spec, const FieldChecks& checks);

}  // namespace bandana
