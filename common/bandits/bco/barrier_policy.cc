// Follow the regularised leader with a self-concordant barrier, and its ellipsoids to explore on.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/bandits/bco/convex_policy.h"
#include "common/bandits/bco/direction.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Centres are kept so far off the boundary, in units of the radius: on it the ellipsoids have no
// width.
constexpr double kMargin = 0x1p-30;

// argmin of g y - ln(r^2 - y^2): -g r^2 / (1 + sqrt(1 + g^2 r^2)).
double Minimiser(double g, double radius) {
  const double y = -g * radius * radius / (1 + std::hypot(1.0, g * radius));
  const double bound = radius * (1 - kMargin);
  return std::clamp(y, -bound, bound);
}

// Hessian^(-1/2) of -ln(r^2 - |y|^2): across y, and along it.
double WidthAcross(double square, double radius) {
  return std::sqrt((radius * radius - square) / 2);
}
double WidthAlong(double square, double radius) {
  return (radius * radius - square) / std::sqrt(2 * (radius * radius + square));
}

// Rounds that step lengths are made for; from 3 on ln(t) / t falls.
double RoundsOf(const ConvexScales& scales, std::uint64_t events) {
  return std::max<double>(3, static_cast<double>(scales.horizon > 0 ? scales.horizon : events + 1));
}

struct Lengths {
  double rho;
  double eta;
};
Lengths LengthsAt(const ConvexDomain& domain, const ConvexScales& scales, double rounds) {
  const double d = domain.dimension;
  const double nu = domain.kind == ConvexDomain::Kind::kBall ? 1 : d;
  const double root = std::sqrt(nu * std::log(rounds) / rounds);
  const double noise = d * scales.feedback_scale;
  const double rho = std::min(
      1.0, std::cbrt(2 * noise * root / (scales.smoothness * domain.radius * domain.radius)));
  return {.rho = rho, .eta = rho * root / noise};
}

class BarrierPolicy final : public ConvexPolicy {
 public:
  BarrierPolicy(const ConvexDomain& domain, const ConvexScales& scales)
      : ConvexPolicy(domain, scales.feedback_middle), scales_(scales) {}

  std::vector<double> Center() const override {
    const double eta = LengthsNow().eta;
    std::vector<double> y = state().vector;  // the gradients' sum
    const double radius = domain().radius;
    if (domain().kind == ConvexDomain::Kind::kBox) {
      for (double& value : y) value = Minimiser(eta * value, radius);
      return y;
    }
    double norm = 0;
    for (const double value : y) norm = std::hypot(norm, value);
    if (norm == 0) return y;
    const double distance = Minimiser(eta * norm, radius);  // <= 0
    for (double& value : y) value = value / norm * distance;
    return y;
  }

  double Distance() const override { return LengthsNow().rho; }

  absl::StatusOr<ConvexPlay> Play(RealSampler& sampler) const override {
    return PlayOnEllipsoid(domain(), Center(), Distance(), sampler);
  }

 private:
  Lengths LengthsNow() const {
    return LengthsAt(domain(), scales_, RoundsOf(scales_, state().events));
  }
  void Step(std::span<const double> gradient, ConvexState& state) const override {
    for (std::size_t i = 0; i < gradient.size(); ++i) state.vector[i] += gradient[i];
  }
  bool Holds(const ConvexState&) const override { return true; }  // any sum has a minimiser inside

  ConvexScales scales_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvexPolicy>> MakeBarrierPolicy(const ConvexDomain& domain,
                                                                const ConvexScales& scales) {
  BANDANA_RETURN_IF_ERROR(domain.Validate());
  BANDANA_RETURN_IF_ERROR(scales.Validate());
  return std::make_unique<BarrierPolicy>(domain, scales);
}

absl::StatusOr<ConvexPlay> PlayOnEllipsoid(const ConvexDomain& domain,
                                           std::span<const double> center, double distance,
                                           RealSampler& sampler) {
  BANDANA_ASSIGN_OR_RETURN(const std::vector<double> u, DrawDirection(domain.dimension, sampler));
  ConvexPlay play{.points = {std::vector<double>(u.size())},
                  .factor = std::vector<double>(u.size())};
  std::vector<double>& x = play.points[0];
  const double d = domain.dimension;
  const double radius = domain.radius;
  if (domain.kind == ConvexDomain::Kind::kBox) {
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double width = WidthAlong(center[i] * center[i], radius);
      x[i] = center[i] + distance * width * u[i];
      play.factor[i] = d / distance * u[i] / width;
    }
  } else {
    double square = 0;
    double along = 0;  // <y, u>
    for (std::size_t i = 0; i < u.size(); ++i) {
      square += center[i] * center[i];
      along += center[i] * u[i];
    }
    if (square > 0) along /= square;
    const double across_width = WidthAcross(square, radius);
    const double along_width = WidthAlong(square, radius);
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double parallel = along * center[i];
      const double rest = u[i] - parallel;
      x[i] = center[i] + distance * (across_width * rest + along_width * parallel);
      play.factor[i] = d / distance * (rest / across_width + parallel / along_width);
    }
  }
  domain.Project(x);  // rounding at rho = 1
  return play;
}

double BarrierFactorMax(const ConvexDomain& domain, const ConvexScales& scales) {
  // rho falls with the rounds; the width along y is the least, at a centre on the margin:
  // (1 - (1 - kMargin)^2) / sqrt(2 (1 + (1 - kMargin)^2)) > kMargin / 2.
  const double rho =
      LengthsAt(domain, scales, RoundsOf(scales, std::numeric_limits<std::uint64_t>::max() - 1))
          .rho;
  return domain.dimension / rho / (domain.radius * kMargin / 2);
}

}  // namespace bandana
