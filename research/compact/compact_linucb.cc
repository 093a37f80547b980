#include "research/compact/compact_linucb.h"

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/linalg/symmetric.h"

namespace bandana {
namespace {

absl::Status CheckRange(const char* name, double value, double min, double max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return InvalidArgument(name, " must be in [", min, ", ", max, "], got ", value);
}

struct Sums {
  double* gram;
  double* moment;
  double* covariance;
  double* mean;
};

// With k = K x and q = s2 + x' k: K -= k k' / q, m += k (r - x' m) / q. kDimension 0: `dimension`
// at run time.
template <int kDimension>
void AddTo(const Sums& sums, int dimension, const double* x, double reward,
           double observation_variance) {
  const int d = kDimension > 0 ? kDimension : dimension;
  double k[kDimension > 0 ? kDimension : ColumnScorer::kDimensionMax];
  double predicted = 0, variance = observation_variance;
  for (int i = 0; i < d; ++i) {
    const double* row = sums.covariance + i * d;
    double sum = 0;
    for (int j = 0; j < d; ++j) sum += row[j] * x[j];
    k[i] = sum;
    variance += sum * x[i];
    predicted += sums.mean[i] * x[i];
  }
  const double inverse = 1 / variance;
  const double step = (reward - predicted) * inverse;
  for (int i = 0; i < d; ++i) {
    double* row = sums.covariance + i * d;
    const double scale = k[i] * inverse;
    for (int j = 0; j < d; ++j) row[j] -= scale * k[j];
    double* gram = sums.gram + i * d;
    for (int j = 0; j < d; ++j) gram[j] += x[i] * x[j];
    sums.mean[i] += k[i] * step;
    sums.moment[i] += x[i] * reward;
  }
}

}  // namespace

absl::StatusOr<CompactLinUcb> CompactLinUcb::Create(const Options& options) {
  if (options.dimension < 1 || options.dimension > ColumnScorer::kDimensionMax) {
    return InvalidArgument("dimension must be in [1, ", ColumnScorer::kDimensionMax, "], got ",
                           options.dimension);
  }
  BANDANA_RETURN_IF_ERROR(
      CheckRange("observation_variance", options.observation_variance, 1e-12, 1e12));
  BANDANA_RETURN_IF_ERROR(CheckRange("prior_variance", options.prior_variance, 1e-12, 1e12));
  BANDANA_RETURN_IF_ERROR(CheckRange("alpha", options.alpha, 0, 1e6));
  return CompactLinUcb(options);
}

CompactLinUcb::CompactLinUcb(const Options& options) : options_(options) {
  const std::size_t d = options.dimension;
  gram_.assign(d * d, 0.0);
  moment_.assign(d, 0.0);
  Rebuild();
}

int CompactLinUcb::Select(const float* x, std::size_t stride, int arms) {
  if (!scored_) {
    scorer_.Set(mean_, covariance_, options_.alpha);
    scored_ = true;
  }
  return scorer_.Best(x, stride, arms);
}

void CompactLinUcb::Learn(std::span<const double> x, double reward) {
  BANDANA_CHECK(x.size() == mean_.size());
  const Sums sums{gram_.data(), moment_.data(), covariance_.data(), mean_.data()};
  if (options_.dimension == 5) {
    AddTo<5>(sums, 5, x.data(), reward, options_.observation_variance);
  } else {
    AddTo<0>(sums, options_.dimension, x.data(), reward, options_.observation_variance);
  }
  scored_ = false;
  if (++events_ % kRebuildEvents == 0) Rebuild();
}

void CompactLinUcb::Rebuild() {
  const std::size_t d = options_.dimension;
  covariance_ = gram_;
  for (double& value : covariance_) value /= options_.observation_variance;
  for (std::size_t i = 0; i < d; ++i) covariance_[i * d + i] += 1 / options_.prior_variance;
  InvertInPlace(covariance_, options_.dimension, 1 / options_.prior_variance);
  mean_.assign(d, 0.0);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) mean_[i] += covariance_[i * d + j] * moment_[j];
    mean_[i] /= options_.observation_variance;
  }
  scored_ = false;
}

}  // namespace bandana
