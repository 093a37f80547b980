#include "common/bandits/mab/arm_policy.h"

#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {

absl::Status CheckArms(int arms) {
  if (arms < 1 || arms > kPolicyArmsMax) {
    return InvalidArgument("arms must be in [1, ", kPolicyArmsMax, "], got ", arms);
  }
  return absl::OkStatus();
}

absl::Status ArmPolicy::Apply(const ArmEvent& event) {
  if (event.arm < 0 || event.arm >= arms()) {
    return InvalidArgument("arm must be in [0, ", arms(), "), got ", event.arm);
  }
  if (!(std::abs(event.reward) <= kRewardAbsMax)) {
    return InvalidArgument("reward must be finite and at most ", kRewardAbsMax, " in size");
  }
  if (!(event.probability > 0 && event.probability <= 1)) {
    return InvalidArgument("probability must be in (0, 1], got ", event.probability);
  }
  Update(event, statistics_);
  ++statistics_[event.arm].events;
  ++events_;
  Refresh();
  return absl::OkStatus();
}

absl::Status ArmPolicy::Restore(std::vector<ArmStatistics> statistics) {
  if (statistics.size() != statistics_.size()) {
    return InvalidArgument("statistics must be of ", statistics_.size(), " arms, got ",
                           statistics.size());
  }
  std::uint64_t events = 0;
  for (std::size_t arm = 0; arm < statistics.size(); ++arm) {
    const ArmStatistics& s = statistics[arm];
    if (!std::isfinite(s.sum)) return InvalidArgument("sum of arm ", arm, " must be finite");
    events += s.events;
  }
  statistics_ = std::move(statistics);
  events_ = events;
  Refresh();
  return absl::OkStatus();
}

}  // namespace bandana
