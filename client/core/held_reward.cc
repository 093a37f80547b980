#include "client/core/held_reward.h"

#include <utility>

#include "common/base/bytes.h"
#include "common/mechanisms/clip_reward.h"

namespace bandana::device {

// PROOF: device_stream begin
HeldReward HeldReward::Clip(std::optional<double> reward, const RewardRange& range,
                            double default_reward) {
  return HeldReward(ClipReward(reward, range, default_reward));
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
