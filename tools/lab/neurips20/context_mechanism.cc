#include "tools/lab/neurips20/context_mechanism.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/noise_grid.h"
#include "common/mechanisms/privunit.h"
#include "tools/lab/neurips20/cap_law.h"

namespace bandana::lab {
namespace {

RawInteraction Interaction(std::span<const double> x, double reward) {
  return {std::vector<double>(x.begin(), x.end()), reward};
}

double SquaredNorm(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

// x / bound, scaled down to length 1 where it is longer; 0 where it is not finite.
std::vector<double> InUnitBall(std::span<const double> x, double bound) {
  std::vector<double> y(x.begin(), x.end());
  double largest = bound;
  for (const double value : y) {
    if (!std::isfinite(value)) return std::vector<double>(x.size(), 0.0);
    largest = std::max(largest, std::abs(value));
  }
  for (double& value : y) value /= largest;
  const double norm = std::sqrt(SquaredNorm(y)) * (largest / bound);  // of x / bound
  for (double& value : y) value *= (largest / bound) / std::max(1.0, norm);
  return y;
}

class Exact final : public ContextMechanism {
 public:
  Exact(double context_l2_max, double reward_abs_max)
      : context_l2_max_(context_l2_max), reward_abs_max_(reward_abs_max) {}

  absl::StatusOr<JointEstimate> Report(std::span<const double> x, double reward) override {
    std::vector<double> clipped = InUnitBall(x, context_l2_max_);
    for (double& value : clipped) value *= context_l2_max_;
    const double r = std::isnan(reward) ? 0 : std::clamp(reward, -reward_abs_max_, reward_abs_max_);
    JointEstimate estimate;
    for (std::size_t i = 0; i < clipped.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) estimate.gram.push_back(clipped[i] * clipped[j]);
      estimate.moment.push_back(r * clipped[i]);
    }
    return estimate;
  }
  ReportVariance variance() const override { return {}; }
  std::string name() const override { return "none"; }

 private:
  double context_l2_max_;
  double reward_abs_max_;
};

class Seeds final : public ContextMechanism {
 public:
  Seeds(const JointStatistic& statistic, const PrivUnit& privunit, std::unique_ptr<LabNoise> noise)
      : statistic_(statistic), privunit_(privunit), noise_(std::move(noise)) {}

  absl::StatusOr<JointEstimate> Report(std::span<const double> x, double reward) override {
    BANDANA_ASSIGN_OR_RETURN(const PerturbedDirection direction,
                             privunit_.Randomize(statistic_.Clip(Interaction(x, reward)), *noise_));
    return privunit_.Decode(direction.seed());
  }
  ReportVariance variance() const override {
    const JointVariance variance = privunit_.EntryVariance();
    return {variance.gram_diagonal, variance.moment};
  }
  std::string name() const override { return "privunit, seeds"; }

 private:
  JointStatistic statistic_;
  PrivUnit privunit_;
  std::unique_ptr<LabNoise> noise_;
};

class Law final : public ContextMechanism {
 public:
  Law(const JointStatistic& statistic, const PrivUnit& privunit, std::unique_ptr<LabNoise> noise)
      : statistic_(statistic), privunit_(privunit), noise_(std::move(noise)), sampler_(*noise_) {}

  absl::StatusOr<JointEstimate> Report(std::span<const double> x, double reward) override {
    const std::vector<double> v = Lift(x, reward);
    std::vector<double> u(v.size());
    BANDANA_RETURN_IF_ERROR(DrawCapDirection(privunit_.design(), v, sampler_, u));
    u.pop_back();
    for (double& value : u) value *= std::numbers::sqrt2 / privunit_.design().mean;
    return statistic_.Unpack(u);
  }
  ReportVariance variance() const override {
    const JointVariance variance = privunit_.EntryVariance();
    return {variance.gram_diagonal, variance.moment};
  }
  std::string name() const override { return "privunit, law"; }

 private:
  // (phi, sqrt(2 - |phi|^2)) / sqrt(2) of the event, clipped as JointStatistic::Clip does.
  std::vector<double> Lift(std::span<const double> x, double reward) const {
    const std::vector<double> y = InUnitBall(x, statistic_.context_l2_max());
    const double share = reward / statistic_.reward_abs_max();
    const double r = std::isnan(share) ? 0 : std::clamp(share, -1.0, 1.0);
    std::vector<double> v;
    v.reserve(statistic_.size() + 1);
    for (std::size_t i = 0; i < y.size(); ++i) {
      v.push_back(y[i] * y[i]);
      for (std::size_t j = i + 1; j < y.size(); ++j) v.push_back(std::numbers::sqrt2 * y[i] * y[j]);
    }
    for (const double value : y) v.push_back(r * value);
    v.push_back(std::sqrt(std::max(0.0, 2 - SquaredNorm(v))));
    for (double& value : v) value /= std::numbers::sqrt2;
    return v;
  }

  JointStatistic statistic_;
  PrivUnit privunit_;
  std::unique_ptr<LabNoise> noise_;
  RealSampler sampler_;
};

class Gaussian final : public ContextMechanism {
 public:
  Gaussian(const JointStatistic& statistic, const GaussianMechanism& gaussian,
           const ReportVariance& variance, std::unique_ptr<LabNoise> noise)
      : statistic_(statistic), gaussian_(gaussian), variance_(variance), noise_(std::move(noise)) {}

  absl::StatusOr<JointEstimate> Report(std::span<const double> x, double reward) override {
    BANDANA_ASSIGN_OR_RETURN(const PerturbedStatistics perturbed,
                             gaussian_.Perturb(statistic_.Clip(Interaction(x, reward)), *noise_));
    std::vector<double> phi;
    phi.reserve(perturbed.grid().size());
    for (const std::int64_t steps : perturbed.grid())
      phi.push_back(std::ldexp(static_cast<double>(steps), perturbed.log2_step()));
    return statistic_.Unpack(phi);
  }
  ReportVariance variance() const override { return variance_; }
  std::string name() const override { return "joint gaussian"; }

 private:
  JointStatistic statistic_;
  GaussianMechanism gaussian_;
  ReportVariance variance_;
  std::unique_ptr<LabNoise> noise_;
};

absl::StatusOr<std::unique_ptr<ContextMechanism>> MakePrivUnit(const ContextPlanRequest& request,
                                                               PrivUnitDraws draws,
                                                               std::unique_ptr<LabNoise> noise) {
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic,
                           JointStatistic::Create({.dimension = request.dimension,
                                                   .context_l2_max = request.context_l2_max,
                                                   .reward_abs_max = request.reward_abs_max}));
  BANDANA_ASSIGN_OR_RETURN(const PrivUnit privunit, PrivUnit::Create(statistic, request.epsilon));
  const bool law = draws == PrivUnitDraws::kLaw ||
                   (draws == PrivUnitDraws::kFast && privunit.design().acceptance * kSeedsMax < 1);
  if (law) return std::make_unique<Law>(statistic, privunit, std::move(noise));
  return std::make_unique<Seeds>(statistic, privunit, std::move(noise));
}

absl::StatusOr<std::unique_ptr<ContextMechanism>> MakeGaussian(const ContextPlanRequest& request,
                                                               std::unique_ptr<LabNoise> noise) {
  BANDANA_ASSIGN_OR_RETURN(const int grid_bits,
                           JointGridBits(request.dimension, request.epsilon, request.delta));
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic,
                           JointStatistic::Create({.dimension = request.dimension,
                                                   .context_l2_max = request.context_l2_max,
                                                   .reward_abs_max = request.reward_abs_max,
                                                   .grid_bits = grid_bits}));
  BANDANA_ASSIGN_OR_RETURN(
      GaussianMechanism gaussian,
      GaussianMechanism::Create(
          {request.epsilon, request.delta, statistic.size(), statistic.l2_sensitivity()}));
  const double variance = std::ldexp(static_cast<double>(gaussian.sigma_squared()), -2 * grid_bits);
  const double l2 = request.context_l2_max * request.context_l2_max;
  const ReportVariance of_report{variance * l2 * l2,
                                 variance * l2 * request.reward_abs_max * request.reward_abs_max};
  return std::make_unique<Gaussian>(statistic, gaussian, of_report, std::move(noise));
}

}  // namespace

std::unique_ptr<ContextMechanism> MakeExactContext(double context_l2_max, double reward_abs_max) {
  return std::make_unique<Exact>(context_l2_max, reward_abs_max);
}

absl::StatusOr<std::unique_ptr<ContextMechanism>> MakeContextMechanism(
    const ContextPlanRequest& request, ContextMechanismKind kind, PrivUnitDraws draws,
    std::unique_ptr<LabNoise> noise) {
  if (kind == ContextMechanismKind::kPrivUnit)
    return MakePrivUnit(request, draws, std::move(noise));
  return MakeGaussian(request, std::move(noise));
}

}  // namespace bandana::lab
