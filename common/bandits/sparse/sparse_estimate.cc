#include "common/bandits/sparse/sparse_estimate.h"

#include <cmath>
#include <limits>

#include "common/base/status.h"
#include "common/ranking/scoring.h"

namespace bandana {

double Predict(const SparseEstimate& estimate, std::span<const double> x) {
  double sum = 0;
  for (const SparseEntry& entry : estimate) sum += entry.value * x[entry.coordinate];
  return sum;
}

absl::StatusOr<int> GreedyArm(const SparseEstimate& estimate, std::span<const double> features,
                              int dimension, std::uint64_t tie_key) {
  if (dimension < 1) return InvalidArgument("dimension must be at least 1, got ", dimension);
  const auto d = static_cast<std::size_t>(dimension);
  if (features.empty() || features.size() % d != 0) {
    return InvalidArgument("features must be one or more arms of ", dimension, " numbers, got ",
                           features.size());
  }
  for (const SparseEntry& entry : estimate) {
    if (entry.coordinate < 0 || entry.coordinate >= dimension) {
      return InvalidArgument("estimate must have coordinates below ", dimension, ", got ",
                             entry.coordinate);
    }
  }
  std::vector<double> scores(features.size() / d);
  for (std::size_t arm = 0; arm < scores.size(); ++arm) {
    const double score = Predict(estimate, features.subspan(arm * d, d));
    scores[arm] = std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
  }
  return RankArms(scores, 1, tie_key).front();
}

}  // namespace bandana
