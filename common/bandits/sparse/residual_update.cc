#include "common/bandits/sparse/residual_update.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace bandana {
namespace {

// Shares of unclipped residuals that are believed: beyond them the count says little about scale.
constexpr double kShareMin = 0.05, kShareMax = 0.95;
// Residuals of which fewer are unclipped have a mean, not only a spread: a longer step overshoots.
constexpr double kStepShareMin = 0.4;
// E a^2 b^2 of normal rows clipped at half a standard deviation (x) and one (residual).
constexpr double kRowVariance = 0.4;
// Energies are in units of this; the mean energy of features that nothing favours is 1.
constexpr double kEnergyMax = 8;
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

double ValueAt(const SparseEstimate& estimate, int coordinate) {
  const auto found = std::find_if(
      estimate.begin(), estimate.end(),
      [coordinate](const SparseEntry& entry) { return entry.coordinate == coordinate; });
  return found == estimate.end() ? 0 : found->value;
}

}  // namespace

double StepPerContribution(const ResidualUpdateOptions& options, double residual_abs_max,
                           double rows, double unclipped) {
  const double inside = Within(options.context_abs_max / options.context_stddev);
  return options.context_abs_max * residual_abs_max /
         (rows * inside * unclipped * Square(options.context_stddev));
}

double PredictionEnergy(const SparseEstimate& estimate, double predicted, double context_stddev) {
  double squares = 0;
  for (const SparseEntry& entry : estimate) squares += Square(entry.value);
  if (!(squares > 0)) return 0;
  return Square(predicted / context_stddev) / (kEnergyMax * squares);
}

SparseBelief UpdateByResiduals(const SparseBelief& belief, const ReleasedSums& release,
                               double stddev, const ResidualUpdateOptions& options) {
  const auto rows = static_cast<double>(release.rows);
  const double least = std::clamp(stddev / rows, kShareMin, 0.5);  // two of the count's deviations
  const double share = std::clamp(release.unclipped / rows, least, kShareMax);
  const double variance = Square(belief.residual_abs_max / Quantile(share));
  const double step =
      StepPerContribution(options, belief.residual_abs_max, rows, std::max(share, kStepShareMin));
  const double error = Square(step) * (Square(stddev) + kRowVariance * rows);

  // The reach of noise alone: two standard deviations; the sampling error of a picked coordinate
  // was the largest of d.
  const double known_variance = kDropVariances * kRowVariance * rows;
  const double picked_variance =
      std::max(kDropVariances, 2 * std::log(static_cast<double>(options.dimension))) *
      kRowVariance * rows;

  // The moves, shortened along the estimate.
  std::vector<double> moves(release.sums);
  double along = 0, squares = 0;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const double before = ValueAt(belief.estimate, release.coordinates[i]);
    along += before * moves[i];
    squares += Square(before);
  }
  if (squares > 0) {
    const double energy = std::clamp(kEnergyMax * release.energy / rows, 1.0, kEnergyMax);
    for (std::size_t i = 0; i < moves.size(); ++i) {
      moves[i] -=
          (1 - 1 / energy) * along / squares * ValueAt(belief.estimate, release.coordinates[i]);
    }
  }

  SparseBelief next;
  double explained = 0;  // of the residuals' variance, by the moves
  for (std::size_t i = 0; i < release.coordinates.size(); ++i) {
    const int j = release.coordinates[i];
    const double before = ValueAt(belief.estimate, j);
    double after = before + step * moves[i];
    const double sampling = before == 0 ? picked_variance : known_variance;
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
