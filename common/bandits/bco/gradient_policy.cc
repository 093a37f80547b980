// Gradient descent from one point on a sphere, or from two ends of a diameter.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/bandits/bco/convex_policy.h"
#include "common/bandits/bco/direction.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Rounds that step lengths are made for.
double HorizonAt(const ConvexScales& scales, const ConvexState& state) {
  return static_cast<double>(scales.horizon > 0 ? scales.horizon : state.events + 1);
}

class GradientPolicy : public ConvexPolicy {
 public:
  std::vector<double> Center() const override { return state().vector; }
  double Distance() const override { return DistanceAt(state()); }

 protected:
  GradientPolicy(const ConvexDomain& domain, const ConvexScales& scales, double feedback_middle)
      : ConvexPolicy(domain, feedback_middle), scales_(scales) {}
  // How far from the centre the points are in round `state.events`.
  virtual double DistanceAt(const ConvexState& state) const = 0;
  virtual double StepLength(const ConvexState& state) const = 0;
  const ConvexScales& scales() const { return scales_; }

  void Step(std::span<const double> gradient, ConvexState& state) const override {
    const double eta = StepLength(state);
    for (std::size_t i = 0; i < gradient.size(); ++i) state.vector[i] -= eta * gradient[i];
    // The next round's distance: with a growing horizon it only shrinks.
    ConvexState next = {.vector = {}, .events = state.events + 1};
    domain().Project(state.vector, 1 - DistanceAt(next) / domain().radius);
  }
  bool Holds(const ConvexState& state) const override {
    return domain().Contains(state.vector, 1 - DistanceAt(state) / domain().radius);
  }

 private:
  ConvexScales scales_;
};

class SphericalPolicy final : public GradientPolicy {
 public:
  SphericalPolicy(const ConvexDomain& domain, const ConvexScales& scales)
      : GradientPolicy(domain, scales, scales.feedback_middle) {}

  absl::StatusOr<ConvexPlay> Play(RealSampler& sampler) const override {
    BANDANA_ASSIGN_OR_RETURN(std::vector<double> u, DrawDirection(domain().dimension, sampler));
    const double rho = Distance();
    const std::vector<double>& y = state().vector;
    std::vector<double> x(y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = y[i] + rho * u[i];
      u[i] *= domain().dimension / rho;
    }
    return ConvexPlay{.points = {std::move(x)}, .factor = std::move(u)};
  }

 private:
  double NoiseFactor() const { return domain().dimension * scales().feedback_scale; }  // d s
  double DistanceAt(const ConvexState& state) const override {
    const double wished =
        std::sqrt(domain().outer_radius() * NoiseFactor() / (3 * scales().lipschitz)) *
        std::pow(HorizonAt(scales(), state), -0.25);
    return std::min(domain().radius / 2, wished);
  }
  double StepLength(const ConvexState& state) const override {
    return domain().outer_radius() * DistanceAt(state) /
           (NoiseFactor() * std::sqrt(HorizonAt(scales(), state)));
  }
};

class TwoPointPolicy final : public GradientPolicy {
 public:
  TwoPointPolicy(const ConvexDomain& domain, const ConvexScales& scales,
                 const TwoPointOptions& options)
      : GradientPolicy(domain, scales, 0), step_factor_(options.step_factor) {
    if (step_factor_ > 0) return;
    const double d = domain.dimension;
    const double s = std::max(1.0, scales.feedback_scale);
    step_factor_ = domain.outer_radius() / (scales.lipschitz * std::sqrt(d + d * d * (s * s - 1)));
  }

  absl::StatusOr<ConvexPlay> Play(RealSampler& sampler) const override {
    BANDANA_ASSIGN_OR_RETURN(std::vector<double> u, DrawDirection(domain().dimension, sampler));
    const double rho = Distance();
    ConvexPlay play{.points = {state().vector, state().vector}, .distance = 2 * rho};
    for (std::size_t i = 0; i < u.size(); ++i) {
      play.points[0][i] += rho * u[i];
      play.points[1][i] -= rho * u[i];
      u[i] *= domain().dimension * scales().lipschitz;
    }
    play.factor = std::move(u);
    return play;
  }

 private:
  double DistanceAt(const ConvexState& state) const override {
    const double t = std::max(3.0, HorizonAt(scales(), state));  // ln(t) / t falls from there on
    return std::min(domain().radius / 2, std::log(t) / t);
  }
  double StepLength(const ConvexState& state) const override {
    return step_factor_ / std::sqrt(HorizonAt(scales(), state));
  }
  double step_factor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvexPolicy>> MakeSphericalPolicy(const ConvexDomain& domain,
                                                                  const ConvexScales& scales) {
  BANDANA_RETURN_IF_ERROR(domain.Validate());
  BANDANA_RETURN_IF_ERROR(scales.Validate());
  return std::make_unique<SphericalPolicy>(domain, scales);
}

absl::StatusOr<std::unique_ptr<ConvexPolicy>> MakeTwoPointPolicy(const ConvexDomain& domain,
                                                                 const ConvexScales& scales,
                                                                 const TwoPointOptions& options) {
  BANDANA_RETURN_IF_ERROR(domain.Validate());
  BANDANA_RETURN_IF_ERROR(scales.Validate());
  if (!(options.step_factor >= 0 && options.step_factor <= kScaleMax)) {
    return InvalidArgument("step_factor must be in [0, ", kScaleMax, "], got ",
                           options.step_factor);
  }
  return std::make_unique<TwoPointPolicy>(domain, scales, options);
}

}  // namespace bandana
