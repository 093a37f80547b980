// Whether a model's own decisions tell how good its policy is.
#pragma once

#include <optional>
#include <string>

#include "common/design/model_spec.h"

namespace bandana {

// Why the rewards that a model learns from are not released one by one, right on average, as a
// sentence with the remedy, without its end; empty where they are, and where nothing is private.
std::string WhyNoRewards(const PublicSpec& spec);

// Why no lift of the model can be shown, with the remedy, as a sentence without its end; empty
// where one can: docs/decision_log.md#lift.
std::string WhyNoLift(const ModelSpec& spec);

// The least and the greatest released reward of an event; of models with windows, in the whole
// range. Nothing: rewards are not released one by one.
std::optional<RewardRange> ReleasedRange(const ModelSpec& spec);

}  // namespace bandana
