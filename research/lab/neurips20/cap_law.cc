#include "research/lab/neurips20/cap_law.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "common/base/status.h"

namespace bandana::lab {
namespace {

double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// (1 - t^2)^k on [g, 1], k = (n - 3)/2: below (1 - g^2)^k e^(-rate (t - g)), rate = 2 k g / (1 -
// g^2), because its logarithm is concave. A rate of 0 stands for the uniform proposal.
absl::StatusOr<double> InCap(const CapDesign& design, RealSampler& sampler) {
  const double g = design.threshold;
  const double k = (design.n - 3) / 2.0;
  const double rate = 2 * k * g / (1 - g * g);
  for (;;) {
    double t = 0;
    double log_bound = 0;
    if (rate > 1) {
      BANDANA_ASSIGN_OR_RETURN(const double step, sampler.Exponential());
      t = g + step / rate;
      log_bound = -step;
    } else {
      BANDANA_ASSIGN_OR_RETURN(const double share, sampler.Uniform());
      t = g + (1 - g) * share;
    }
    if (t > 1) continue;
    BANDANA_ASSIGN_OR_RETURN(const double level, sampler.Uniform());
    const double log_density = k * (std::log1p(-t * t) - std::log1p(-g * g));
    if (std::log(level) <= log_density - log_bound) return t;
  }
}

absl::StatusOr<double> Beside(const CapDesign& design, RealSampler& sampler) {
  std::vector<double> z(static_cast<std::size_t>(design.n));
  for (;;) {
    BANDANA_RETURN_IF_ERROR(sampler.FillNormal(z));
    const double t = z[0] / std::sqrt(Dot(z, z));
    if (t < design.threshold) return t;
  }
}

}  // namespace

absl::StatusOr<double> DrawCapCoordinate(const CapDesign& design, RealSampler& sampler) {
  BANDANA_ASSIGN_OR_RETURN(const double side, sampler.Uniform());
  return side < design.cap_weight ? InCap(design, sampler) : Beside(design, sampler);
}

absl::Status DrawCapDirection(const CapDesign& design, std::span<const double> v,
                              RealSampler& sampler, std::span<double> u) {
  BANDANA_ASSIGN_OR_RETURN(const double t, DrawCapCoordinate(design, sampler));
  BANDANA_RETURN_IF_ERROR(sampler.FillNormal(u));
  const double along = Dot(u, v);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] -= along * v[i];
  const double scale = std::sqrt((1 - t * t) / Dot(u, u));
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = t * v[i] + scale * u[i];
  return absl::OkStatus();
}

}  // namespace bandana::lab
