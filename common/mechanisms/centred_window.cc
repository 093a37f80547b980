#include "common/mechanisms/centred_window.h"

#include <algorithm>
#include <cmath>

namespace bandana {
namespace {

constexpr double kNarrowest = 0x1p-20;  // share of the range

double Widths(Epsilon epsilon) { return std::clamp(0.75 + 0.25 * epsilon.value, 1.0, 3.0); }

}  // namespace

RewardRange CentredWindow(const RewardRange& range, double mean, double width, double reward_stddev,
                          Epsilon epsilon) {
  const double half = Widths(epsilon) * std::hypot(width, reward_stddev);
  if (!std::isfinite(mean) || !std::isfinite(half)) return range;
  const double middle = std::clamp(mean, range.min, range.max);
  const double reach = std::max(half, kNarrowest * range.width());
  const RewardRange window{std::max(range.min, middle - reach),
                           std::min(range.max, middle + reach)};
  return IsWindowOf(range, window) ? window : range;
}

double EventScale(const RewardRandomizer& randomizer, const RewardRange& window,
                  double reward_stddev) {
  const double variance = reward_stddev * reward_stddev;
  return std::sqrt((variance + randomizer.VarianceMax()) /
                   (variance + randomizer.VarianceMaxIn(window)));
}

bool IsWindowOf(const RewardRange& range, const RewardRange& window) {
  return window.min >= range.min && window.max <= range.max && window.min < window.max;
}

}  // namespace bandana
