// The rules that a model's public fields obey, the same on the server (ModelConfig) and on the
// device (GetModelResponse). Each reports mistakes under the name that the field has in both
// messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/promise/field_checks.h"
#include "common/promise/model_message.h"
#include "common/promise/public_spec.h"

namespace bandana {

// [a-z0-9][a-z0-9-]{0,62}
void CheckModelName(std::string_view field, std::string_view name, const FieldChecks& checks);

// By the number of v1::Link: LINEAR, or with mode LOCAL_CONTEXT and rewards in [0, 1] LOGISTIC.
// Reads mode and reward range of the spec.
Link CheckLink(std::int32_t link, const PublicSpec& spec, const FieldChecks& checks);

// Whether out-of-range values are rejected, by the number of v1::OutOfRange; 0 means clipped.
bool CheckOutOfRange(std::string_view field, std::int32_t value, const FieldChecks& checks);

// `reward_min` < `reward_max`, both at most kRewardAbsMax in magnitude.
RewardRange CheckRewardRange(double min, double max, const FieldChecks& checks);

// `epsilon` in (0, kEpsilonPolicyMax], with `research` up to kEpsilonResearchMax.
Epsilon CheckEpsilon(double epsilon, bool research, const FieldChecks& checks);

// `reporting`: required for private modes. Reads mode and reward range of the spec and fills in its
// reporting.
void CheckReporting(const std::optional<wire::Reporting>& reporting, PublicSpec& spec,
                    const FieldChecks& checks);

// The grace of the reward window, where the policy has one: central modes with a window.
std::optional<absl::Duration> GraceOf(const PublicSpec& spec);

// Where contexts are private, no feature value may decide whether there is an event: out of range
// is clipped. Reads mode and rule of the spec.
void CheckHiddenFeatures(const PublicSpec& spec, const FieldChecks& checks);

// `token_lifetime` in [1 s, 720 h], at least the spec's reward window with its grace.
absl::Duration CheckTokenLifetime(const wire::Duration& lifetime, const PublicSpec& spec,
                                  const FieldChecks& checks);

}  // namespace bandana
