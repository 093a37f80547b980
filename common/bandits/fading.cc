#include "common/bandits/fading.h"

#include <cmath>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// 2^(-k / 32), each the nearest double.
constexpr double kWeights[kFadingSteps] = {
    // clang-format off
    1.0, 0.9785720620877001, 0.9576032806985737, 0.93708381705515,
    0.9170040432046712, 0.8973545375015536, 0.8781260801866497, 0.859309649061239,
    0.8408964152537145, 0.8228777390769825, 0.8052451659746271, 0.7879904225539432,
    0.7711054127039704, 0.7545822137967114, 0.7384130729697497, 0.7225904034885233,
    0.7071067811865476, 0.691954940981916, 0.6771277734684463, 0.6626183215798707,
    0.6484197773255048, 0.6345254785958666, 0.620928906036742, 0.6076236799902345,
    0.5946035575013605, 0.5818624293887887, 0.5693943173783458, 0.5571933712979462,
    0.5452538663326288, 0.5335702003384118, 0.5221368912137069, 0.5109485743270583,
    // clang-format on
};
// Beyond it numbers would lose digits at the end of the exponents; 2^-64 of an event is nothing.
constexpr std::uint64_t kHalfLivesMax = 64;

}  // namespace

// PROOF: forgetting begin
double FadingWeight(std::uint64_t steps) {
  const std::uint64_t halves = steps / kFadingSteps;
  if (halves >= kHalfLivesMax) return 0;
  return std::ldexp(kWeights[steps % kFadingSteps], -static_cast<int>(halves));
}

void FadeTo(std::uint64_t steps, NodeStatistics& statistics) {
  if (steps == statistics.steps) return;
  BANDANA_CHECK(steps > statistics.steps);
  const double weight = FadingWeight(steps - statistics.steps);
  for (double& value : statistics.gram) value *= weight;
  for (double& value : statistics.moment) value *= weight;
  statistics.steps = steps;
}

void FadeReportsTo(std::uint64_t steps, NodeStatistics& reports) {
  if (steps == reports.steps) return;
  BANDANA_CHECK(steps > reports.steps);
  const double weight = FadingWeight(steps - reports.steps);
  const auto count = static_cast<double>(reports.events);
  reports.noise_faded = count - weight * weight * (count - reports.noise_faded);
  FadeTo(steps, reports);
}
// PROOF: forgetting end

absl::Status CheckSteps(const NodeStatistics& statistics, std::uint64_t present) {
  if (statistics.steps > present) {
    return InvalidArgument("statistics are of step ", statistics.steps, ", the model is at ",
                           present);
  }
  const double faded = statistics.noise_faded;
  if (faded >= 0 && faded <= static_cast<double>(statistics.events)) return absl::OkStatus();
  return InvalidArgument("noise_faded must be in [0, events]");
}

}  // namespace bandana
