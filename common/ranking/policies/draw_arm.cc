#include "common/ranking/policies/draw_arm.h"

#include <cstddef>

#include "common/base/check.h"

namespace bandana {

int DrawArm(std::span<const double> probabilities, double uniform) {
  double sum = 0;
  int last = -1;
  for (std::size_t arm = 0; arm < probabilities.size(); ++arm) {
    if (!(probabilities[arm] > 0)) continue;
    last = static_cast<int>(arm);
    sum += probabilities[arm];
    if (uniform < sum) return last;
  }
  BANDANA_CHECK(last >= 0);
  return last;  // rounding left the sum below 1
}

}  // namespace bandana
