#include "common/bandits/joint/thompson.h"

#include <cmath>
#include <cstddef>

#include "common/bandits/statistics.h"
#include "common/base/check.h"

namespace bandana {

ThompsonSampler::ThompsonSampler(const NodePosterior& posterior, double stddevs)
    : mean_(posterior.mean) {
  BANDANA_CHECK(stddevs >= 0);
  const int d = static_cast<int>(mean_.size());
  BANDANA_CHECK(posterior.covariance.size() == mean_.size() * mean_.size());
  factor_.assign(static_cast<std::size_t>(PackedIndex(d, 0)), 0.0);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = posterior.covariance[static_cast<std::size_t>(i) * d + j];
      for (int l = 0; l < j; ++l) sum -= factor_[PackedIndex(i, l)] * factor_[PackedIndex(j, l)];
      const double pivot = factor_[PackedIndex(j, j)];
      if (i == j) {
        factor_[PackedIndex(i, i)] = sum > 0 ? std::sqrt(sum) : 0;
      } else {
        factor_[PackedIndex(i, j)] = pivot > 0 ? sum / pivot : 0;
      }
    }
  }
  for (double& entry : factor_) entry *= stddevs;
}

void ThompsonSampler::Draw(std::span<const double> normals, std::span<double> theta) const {
  BANDANA_CHECK(normals.size() == mean_.size() && theta.size() == mean_.size());
  const double* entry = factor_.data();
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    double sum = mean_[i];
    for (std::size_t j = 0; j <= i; ++j) sum += *entry++ * normals[j];
    theta[i] = sum;
  }
}

}  // namespace bandana
