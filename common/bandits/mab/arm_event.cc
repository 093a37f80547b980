#include "common/bandits/mab/arm_event.h"

#include <cstddef>

namespace bandana {

int ArmOf(std::span<const double> features) {
  int arm = -1;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (features[i] == 0) continue;
    if (features[i] != 1 || arm >= 0) return -1;
    arm = static_cast<int>(i);
  }
  return arm;
}

}  // namespace bandana
