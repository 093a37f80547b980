// A clipped reaction that waits for its draw.
#pragma once

#include <optional>
#include <string_view>

#include "client/core/secret_bytes.h"
#include "common/mechanisms/reward_range.h"

namespace bandana::device {

// Has no printer and no conversion to a number; its bytes are for the device's own store, and only
// until the draw. A one-shot mechanism draws from its own ClippedReward, which is held instead.
class HeldReward {
 public:
  // Missing and NaN mean `default_reward`; out of range moves to the bound.
  static HeldReward Clip(std::optional<double> reward, const RewardRange& range,
                         double default_reward);

  // 8 bytes, for every reward.
  SecretBytes Pack() const;
  // Nothing when the bytes are not Pack's.
  static std::optional<HeldReward> Unpack(std::string_view bytes);

 private:
  friend class CounterStream;
  friend class ContextPrivatizer;
  explicit HeldReward(double value) : value_(value) {}
  double value_;  // in the range it was clipped to
};

}  // namespace bandana::device
