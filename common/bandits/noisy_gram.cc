#include "common/bandits/noisy_gram.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/bandits/statistics.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr double kThetaMax = 1e6;

}  // namespace

absl::StatusOr<SemidefiniteGram> ClipToSemidefinite(std::span<const double> gram, int dimension) {
  if (dimension < 1 || dimension > kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ", dimension);
  }
  const auto size = static_cast<std::size_t>(PackedIndex(dimension, 0));
  if (gram.size() != size) {
    return InvalidArgument("gram must have ", size, " entries at dimension ", dimension, ", got ",
                           gram.size());
  }
  if (!EntriesInRange(gram)) return InvalidArgument("gram must be finite and within ", kEntryMax);

  SemidefiniteGram result{{gram.begin(), gram.end()}};
  double largest = 0;
  for (const double value : gram) largest = std::max(largest, std::abs(value));
  if (largest == 0) return result;
  Eigen::MatrixXd lower = Eigen::MatrixXd::Zero(dimension, dimension);
  for (int i = 0; i < dimension; ++i) {
    for (int j = 0; j <= i; ++j) lower(i, j) = gram[PackedIndex(i, j)] / largest;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(lower);  // ascending
  const Eigen::VectorXd& values = solver.eigenvalues();
  const double rounding = dimension * 0x1p-52 * values.cwiseAbs().maxCoeff();
  if (values[0] > rounding) return result;
  for (const double value : values) result.eigenvalues_clipped += value < -rounding ? 1 : 0;

  // As a product of one factor with itself: no rounding makes a 2 x 2 minor negative.
  const Eigen::MatrixXd factor =
      solver.eigenvectors() * values.cwiseMax(0.0).cwiseSqrt().asDiagonal();
  for (int i = 0; i < dimension; ++i) {
    for (int j = 0; j <= i; ++j)
      result.gram[PackedIndex(i, j)] = largest * factor.row(i).dot(factor.row(j));
  }
  return result;
}

absl::StatusOr<RepairedStatistics> RepairStatistics(const NoisyStatistics& noisy,
                                                    double theta_l2_max) {
  if (!(theta_l2_max >= 0 && theta_l2_max <= kThetaMax))
    return InvalidArgument("theta_l2_max must be in [0, ", kThetaMax, "], got ", theta_l2_max);
  BANDANA_RETURN_IF_ERROR(CheckVariance("gram_variance", noisy.gram_variance));
  BANDANA_RETURN_IF_ERROR(CheckVariance("moment_variance", noisy.moment_variance));
  const int dimension =
      static_cast<int>(std::min(noisy.moment.size(), static_cast<std::size_t>(kDimensionMax) + 1));
  BANDANA_ASSIGN_OR_RETURN(SemidefiniteGram repaired, ClipToSemidefinite(noisy.gram, dimension));
  RepairedStatistics result{
      {std::move(repaired.gram), noisy.moment, noisy.events,
       noisy.moment_variance + noisy.gram_variance * theta_l2_max * theta_l2_max},
      repaired.eigenvalues_clipped};
  BANDANA_RETURN_IF_ERROR(ValidateStatistics(result.statistics, dimension));
  return result;
}

}  // namespace bandana
