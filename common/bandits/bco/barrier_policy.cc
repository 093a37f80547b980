// Follow the regularised leader with a self-concordant barrier, and its ellipsoids to explore on.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/bandits/bco/convex_policy.h"
#include "common/bandits/bco/direction.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// argmin of g y - ln(r^2 - y^2): -g r^2 / (1 + sqrt(1 + g^2 r^2)), kept off the boundary, where
// the ellipsoids have no width.
double Minimiser(double g, double radius) {
  const double y = -g * radius * radius / (1 + std::hypot(1.0, g * radius));
  const double bound = radius * (1 - 0x1p-30);
  return std::clamp(y, -bound, bound);
}

// Hessian^(-1/2) of -ln(r^2 - |y|^2): across y, and along it.
double WidthAcross(double square, double radius) {
  return std::sqrt((radius * radius - square) / 2);
}
double WidthAlong(double square, double radius) {
  return (radius * radius - square) / std::sqrt(2 * (radius * radius + square));
}

class BarrierPolicy final : public ConvexPolicy {
 public:
  BarrierPolicy(const ConvexDomain& domain, const ConvexScales& scales)
      : ConvexPolicy(domain, scales.feedback_middle), scales_(scales) {}

  std::vector<double> Center() const override {
    const Lengths lengths = LengthsAt(state());
    std::vector<double> y = state().vector;  // the gradients' sum
    const double radius = domain().radius;
    if (domain().kind == ConvexDomain::Kind::kBox) {
      for (double& value : y) value = Minimiser(lengths.eta * value, radius);
      return y;
    }
    double norm = 0;
    for (const double value : y) norm = std::hypot(norm, value);
    if (norm == 0) return y;
    const double distance = Minimiser(lengths.eta * norm, radius);  // <= 0
    for (double& value : y) value = value / norm * distance;
    return y;
  }

  absl::StatusOr<ConvexPlay> Play(RealSampler& sampler) const override {
    BANDANA_ASSIGN_OR_RETURN(const std::vector<double> u,
                             DrawDirection(domain().dimension, sampler));
    const double rho = LengthsAt(state()).rho;
    std::vector<double> y = Center();
    ConvexPlay play{.points = {std::vector<double>(u.size())},
                    .factor = std::vector<double>(u.size())};
    const double d = domain().dimension;
    const double radius = domain().radius;
    if (domain().kind == ConvexDomain::Kind::kBox) {
      for (std::size_t i = 0; i < u.size(); ++i) {
        const double width = WidthAlong(y[i] * y[i], radius);
        play.points[0][i] = y[i] + rho * width * u[i];
        play.factor[i] = d / rho * u[i] / width;
      }
    } else {
      double square = 0;
      double along = 0;  // <y, u>
      for (std::size_t i = 0; i < u.size(); ++i) {
        square += y[i] * y[i];
        along += y[i] * u[i];
      }
      if (square > 0) along /= square;
      const double across_width = WidthAcross(square, radius);
      const double along_width = WidthAlong(square, radius);
      for (std::size_t i = 0; i < u.size(); ++i) {
        const double parallel = along * y[i];
        const double rest = u[i] - parallel;
        play.points[0][i] = y[i] + rho * (across_width * rest + along_width * parallel);
        play.factor[i] = d / rho * (rest / across_width + parallel / along_width);
      }
    }
    domain().Project(play.points[0]);  // rounding at rho = 1
    return play;
  }

 private:
  struct Lengths {
    double rho;
    double eta;
  };
  Lengths LengthsAt(const ConvexState& state) const {
    const double d = domain().dimension;
    const double nu = domain().kind == ConvexDomain::Kind::kBall ? 1 : d;
    const double t = std::max<double>(
        3, static_cast<double>(scales_.horizon > 0 ? scales_.horizon : state.events + 1));
    const double root = std::sqrt(nu * std::log(t) / t);
    const double noise = d * scales_.feedback_scale;
    const double radius = domain().radius;
    const double rho =
        std::min(1.0, std::cbrt(2 * noise * root / (scales_.smoothness * radius * radius)));
    return {.rho = rho, .eta = rho * root / noise};
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

}  // namespace bandana
