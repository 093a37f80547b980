#include "client/core/selection/backend_answer.h"

#include <utility>

#include "client/core/device_time.h"
#include "client/core/handle.h"
#include "client/core/selection/select_message.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/centred_window.h"

namespace bandana::device {
namespace {

absl::Status CheckWhose(const Adopter& adopter, const BackendAnswer& answer) {
  BANDANA_RETURN_IF_ERROR(CheckUser(adopter.user));
  if (answer.user != adopter.user) return InvalidArgument("answer.user is another user");
  if (answer.model != adopter.model) {
    return InvalidArgument("answer.model must be ", ToAbsl(adopter.model), ", the client's");
  }
  if (answer.policy_hash != adopter.policy_hash) {
    return InvalidArgument("answer.policy_hash is not that of the policy that the client of model ",
                           ToAbsl(adopter.model), " agreed to");
  }
  if (answer.decided <= adopter.now + kClockSkew) return absl::OkStatus();
  return FailedPrecondition("answer.decided must be at most an hour after the device's time");
}

absl::Status CheckRanks(const BackendAnswer& answer) {
  if (answer.arms.empty() || answer.arms.size() > kTopKMax) {
    return InvalidArgument("answer.arms must be 1 to ", kTopKMax, ", got ", answer.arms.size());
  }
  if (answer.shown < 0 || answer.shown >= static_cast<int>(answer.arms.size())) {
    return InvalidArgument("answer.shown must be in [0, ", answer.arms.size(), "), got ",
                           answer.shown);
  }
  if (!answer.token.empty()) return absl::OkStatus();
  return InvalidArgument("answer.token must not be empty: one decision, of no slots, is adopted");
}

// Packed as Handle::windows.
absl::StatusOr<std::string> WindowsOf(const Adopter& adopter, const BackendAnswer& answer) {
  const std::size_t expected = adopter.range ? 2 * answer.arms.size() : 0;
  if (answer.reward_windows.size() != expected) {
    return InvalidArgument("answer.reward_windows must have ", expected, " numbers, got ",
                           answer.reward_windows.size());
  }
  std::string windows;
  for (std::size_t i = 0; i < expected; i += 2) {
    const RewardRange window{answer.reward_windows[i], answer.reward_windows[i + 1]};
    if (!IsWindowOf(*adopter.range, window)) {
      return InvalidArgument("answer.reward_windows[", i, "] and the number behind it must be a ",
                             "window inside the reward range");
    }
    AppendWindow(window, windows);
  }
  return windows;
}

}  // namespace

absl::StatusOr<Ranking> RankingOf(const Adopter& adopter, BackendAnswer answer) {
  BANDANA_RETURN_IF_ERROR(CheckWhose(adopter, answer));
  BANDANA_RETURN_IF_ERROR(CheckRanks(answer));
  Ranking ranking;
  BANDANA_ASSIGN_OR_RETURN(ranking.windows, WindowsOf(adopter, answer));
  ranking.arms = std::move(answer.arms);
  ranking.token = std::move(answer.token);
  ranking.posterior_version = answer.posterior_version;
  return ranking;
}

}  // namespace bandana::device
