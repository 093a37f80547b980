#include "common/design/families/drawn.h"

#include "common/bandits/mab/arm_event.h"
#include "common/base/status.h"

namespace bandana {

bool DrawnFamily::FitsToken(std::size_t arms, double probability,
                            std::span<const double> features) const {
  return arms == 1 && probability >= kArmProbabilityMin && FitsEvent(features);
}

absl::Status DrawnFamily::CheckRankedByDevices(const ModelSpec& spec) const {
  return FailedPrecondition("model ", spec.public_spec.name, " is of ", ToAbsl(name()),
                            ": Select draws them, there is no posterior to rank by");
}

}  // namespace bandana
