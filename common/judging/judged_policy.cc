#include "common/judging/judged_policy.h"

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<bool> JudgedPolicy::Chance(const SlotView& view, double& chance) {
  if (view.slot().arms() == 0) {
    return FailedPrecondition(name_, ": the log names no arms");
  }
  std::vector<double> law;
  BANDANA_ASSIGN_OR_RETURN(const bool defined, Law(view, law));
  if (defined) chance = law[view.slot().chosen];
  return defined;
}

}  // namespace bandana
