#include "common/bandits/sparse/residual_update.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bandana {
namespace {

// Shares of unclipped residuals that are believed: beyond them the count says little about scale.
constexpr double kShareMin = 0.05, kShareMax = 0.95;
// E a^2 b^2 of normal rows clipped at half a standard deviation (x) and one (residual).
constexpr double kRowVariance = 0.4;
constexpr double kDropVariances = 4;
constexpr double kShrinkMax = 64;     // of R, over all episodes
constexpr double kShrinkStepMax = 4;  // of R, in one

// P(|Z| <= z) of a standard normal Z.
double Within(double z) { return std::erf(z / std::numbers::sqrt2); }

// z with Within(z) = share, share in [kShareMin, kShareMax].
double Quantile(double share) {
  double low = 0, high = 4;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (Within(middle) < share ? low : high) = middle;
  }
  return low;
}

double Square(double x) { return x * x; }

}  // namespace

double StepPerContribution(const ResidualUpdateOptions& options, double residual_abs_max,
                           double rows, double unclipped) {
  const double inside = Within(options.context_abs_max / options.context_stddev);
  return options.context_abs_max * residual_abs_max /
         (rows * inside * unclipped * Square(options.context_stddev));
}

SparseBelief UpdateByResiduals(const SparseBelief& belief, const ReleasedSums& release,
                               double stddev, const ResidualUpdateOptions& options) {
  const auto rows = static_cast<double>(release.rows);
  const double least = std::clamp(stddev / rows, kShareMin, 0.5);  // two of the count's deviations
  const double share = std::clamp(release.unclipped / rows, least, kShareMax);
  const double variance = Square(belief.residual_abs_max / Quantile(share));
  const double step = StepPerContribution(options, belief.residual_abs_max, rows, share);
  const double error = Square(step) * (Square(stddev) + kRowVariance * rows);

  // What noise alone reaches: two standard deviations; the sampling error of a picked coordinate
  // was the largest of d.
  const double known_variance = kDropVariances * kRowVariance * rows;
  const double picked_variance =
      std::max(kDropVariances, 2 * std::log(static_cast<double>(options.dimension))) *
      kRowVariance * rows;

  SparseBelief next;
  double explained = 0;  // of the residuals' variance, by the moves
  for (std::size_t i = 0; i < release.coordinates.size(); ++i) {
    const int j = release.coordinates[i];
    const auto known =
        std::find_if(belief.estimate.begin(), belief.estimate.end(),
                     [j](const SparseEntry& entry) { return entry.coordinate == j; });
    const double before = known == belief.estimate.end() ? 0 : known->value;
    double after = before + step * release.sums[i];
    const double sampling = known == belief.estimate.end() ? picked_variance : known_variance;
    if (Square(after) < Square(step) * (kDropVariances * Square(stddev) + sampling)) after = 0;
    if (after != 0) next.estimate.push_back({j, after});
    // A move that is kept explains its square and brings its error twice: once in the square.
    if (after != before)
      explained += Square(options.context_stddev) * (Square(after - before) - 2 * error);
  }
  const double left = std::max(variance - explained, variance / Square(kShrinkStepMax));
  next.residual_abs_max =
      std::clamp(std::sqrt(left), options.residual_abs_max / kShrinkMax, options.residual_abs_max);
  return next;
}

}  // namespace bandana
