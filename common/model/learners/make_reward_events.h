// The handling of events in a model whose rewards may be read, by its family.
#pragma once

#include <memory>

#include "common/design/model_spec.h"
#include "common/model/state/reward_events.h"

namespace bandana {

std::unique_ptr<const RewardEvents> MakeRewardEvents(const ModelSpec& spec);

}  // namespace bandana
