#include "client/src/privacy/held_reward.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/bytes.h"

namespace bandana::device {

// PROOF: device_stream begin
HeldReward HeldReward::Clip(std::optional<double> reward, const RewardRange& range,
                            double default_reward) {
  const double value = reward && !std::isnan(*reward) ? *reward : default_reward;
  return HeldReward(std::clamp(value, range.min, range.max));
}
// PROOF: device_stream end

SecretBytes HeldReward::Pack() const {
  std::string bytes;
  ByteWriter(bytes).F64(value_);
  return SecretBytes(std::move(bytes));
}

std::optional<HeldReward> HeldReward::Unpack(std::string_view bytes) {
  ByteReader reader(bytes);
  const double value = reader.F64();
  if (!reader.Done()) return std::nullopt;
  return HeldReward(value);
}

}  // namespace bandana::device
