#include "bench/window_model.h"

#include "absl/time/time.h"
#include "common/promise/mechanism.h"

namespace bandana::bench {

PublicSpec WindowModel(int dimension) {
  PublicSpec spec;
  spec.name = "bench";
  spec.dimension = dimension;
  spec.feature_l2_max = 1;
  spec.reward_range = {0, 1};
  spec.mode = Mode::kLocalReward;
  spec.mechanism = MechanismId::kRewardRandomizer;
  spec.epsilon = {1.0};
  spec.unit_of_privacy = "event";
  spec.guarantee = "proven";
  spec.token_lifetime = absl::Hours(24);
  spec.reward_window = RewardWindowSpec{absl::Seconds(10), 0};
  spec.made = MakeMechanism(spec).value();
  return spec;
}

}  // namespace bandana::bench
