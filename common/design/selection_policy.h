// How a model chooses arms from their scores, as its configuration says.
#pragma once

#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

// Most draws of the posterior per decision, times arms on offer: what a decision may cost.
inline constexpr std::uint64_t kPosteriorDrawsMax = 1'000'000;

// Fills `spec.policy`, and reports what cannot be. Requires mode, coupling and effects.
void ParseSelectionPolicy(const v1::ModelConfig& config, ModelSpec& spec,
                          const FieldChecks& checks);

// Errors: FAILED_PRECONDITION the model's arms are drawn, which devices do not do.
absl::Status CheckRankedByScore(const ModelSpec& spec);

}  // namespace bandana
