#include "common/design/planner/planner.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/accounting/zcdp.h"
#include "common/bandits/noise_shape.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/mechanisms/shaped_counter.h"
#include "common/mechanisms/centred_window.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/reward_randomizer.h"

namespace bandana {
namespace {

constexpr int kEigenNodesMax = 512;
constexpr int kTimes = 96;  // points of the mean over t, equally spaced in log t

absl::Status Check(const PlanRequest& r) {
  if (r.dimension < 1 || r.dimension > kDimensionMax)
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ", r.dimension);
  const auto positive = [](std::string_view name, double value) {
    if (value > 0 && value <= kScaleMax) return absl::OkStatus();
    return InvalidArgument(ToAbsl(name), " must be in (0, ", kScaleMax, "], got ", value);
  };
  BANDANA_RETURN_IF_ERROR(positive("feature_l2_max", r.feature_l2_max));
  BANDANA_RETURN_IF_ERROR(positive("reward_stddev", r.reward_stddev));
  BANDANA_RETURN_IF_ERROR(positive("prior_stddev", r.prior_stddev));
  if (r.events_per_node < 1 || r.events_per_node > (std::uint64_t{1} << 30))
    return InvalidArgument("events_per_node must be in [1, 2^30], got ", r.events_per_node);
  if (!(r.epsilon.value > 0) || !(r.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in (0, ", kEpsilonResearchMax, "], got ",
                           r.epsilon.value);
  }
  if (!(r.delta.value >= 0) || !(r.delta.value < 1))
    return InvalidArgument("delta must be in [0, 1), got ", r.delta.value);
  return absl::OkStatus();
}

// The users that are coupled; none of them where each is alone.
std::span<const CouplingComponent> ComponentsOf(const PlanRequest& request) {
  if (!request.coupling || request.coupling->nodes() < 2) return {};
  return request.coupling->components();
}

// Eigenvalues of P, one per node.
std::vector<double> SpectrumOf(const PlanRequest& request) {
  const std::span<const CouplingComponent> components = ComponentsOf(request);
  if (components.empty()) return {1.0};
  std::vector<double> spectrum;
  for (const CouplingComponent& component : components) {
    const int n = static_cast<int>(component.nodes.size());
    const Eigen::Map<const Eigen::MatrixXd> p(component.prior.data(), n, n);
    if (n > kEigenNodesMax) {
      for (int i = 0; i < n; ++i) spectrum.push_back(p(i, i));
      continue;
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(p, Eigen::EigenvaluesOnly);
    for (const double value : solver.eigenvalues()) spectrum.push_back(std::max(0.0, value));
  }
  return spectrum;
}

// rho for the information H in every direction of every node.
double Remaining(const std::vector<double>& spectrum, double prior_variance, double information) {
  double left = 0;
  double all = 0;
  for (const double value : spectrum) {
    left += value / (1 + prior_variance * value * information);
    all += value;
  }
  return left / all;
}

// The mean over t = 1 .. T of 1 - sqrt(1 - rho_t).
double MeanOverTime(const PlanRequest& request, const std::function<double(double)>& rho_at) {
  const double end = static_cast<double>(request.events_per_node);
  double sum = 0;
  double previous = 0;
  for (int i = 1; i <= kTimes; ++i) {
    const double t = std::ceil(std::pow(end, static_cast<double>(i) / kTimes));
    if (t == previous) continue;
    const double rho = rho_at((t + previous) / 2);
    sum += (t - previous) * (1 - std::sqrt(std::max(0.0, 1 - rho)));
    previous = t;
  }
  return sum / end;
}

// As above with rho_t after `information(t)` in every direction.
double MeanRegret(const PlanRequest& request, const std::vector<double>& spectrum,
                  const std::function<double(double)>& information) {
  const double tau2 = request.prior_stddev * request.prior_stddev;
  return MeanOverTime(request, [&](double t) { return Remaining(spectrum, tau2, information(t)); });
}

// S_u / I after t events.
double Gram(const PlanRequest& request, double t) {
  return t * request.feature_l2_max * request.feature_l2_max / request.dimension;
}

PlanCandidate Excluded(PlanCandidate candidate, const absl::Status& why) {
  candidate.excluded = std::string(why.message());
  return candidate;
}

PlanCandidate Randomizer(const PlanRequest& request, const std::vector<double>& spectrum) {
  PlanCandidate candidate{.name = "randomizer", .pure = true};
  const auto randomizer =
      RewardRandomizer::Create({request.epsilon, request.rewards, request.rewards_binary});
  if (!randomizer.ok()) return Excluded(candidate, randomizer.status());
  const bool hybrid = randomizer->kind() == RandomizerKind::kHybrid;
  candidate.name = hybrid ? "randomizer (hybrid)" : "randomizer (one bit)";
  const double v_r = randomizer->VarianceMax();
  const double variance = request.reward_stddev * request.reward_stddev + v_r;
  candidate.predicted =
      MeanRegret(request, spectrum, [&](double t) { return Gram(request, t) / variance; });
  candidate.noise = std::sqrt(v_r * Gram(request, static_cast<double>(request.events_per_node)));
  return candidate;
}

// The share of the prior that is left follows from the information so far, and the next event's
// noise from that share: one pass over time, each step's noise that of its begin.
PlanCandidate Centred(const PlanRequest& request, const std::vector<double>& spectrum) {
  PlanCandidate candidate{
      .mechanism = MechanismId::kCentredRandomizer, .name = "centred randomizer", .pure = true};
  const auto randomizer = RewardRandomizer::Create({request.epsilon, request.rewards, false});
  if (!randomizer.ok()) return Excluded(candidate, randomizer.status());
  if (request.rewards_binary) {
    return Excluded(candidate, InvalidArgument("rewards are binary: one bit is better"));
  }
  const double tau2 = request.prior_stddev * request.prior_stddev;
  const double sigma2 = request.reward_stddev * request.reward_stddev;
  double information = 0;
  double noise = 0;
  double then = 0;
  candidate.predicted = MeanOverTime(request, [&](double t) {
    const double left = Remaining(spectrum, tau2, information);
    const RewardRange window = CentredWindow(request.rewards, request.rewards.middle(),
                                             request.feature_l2_max * std::sqrt(tau2 * left),
                                             request.reward_stddev, request.epsilon);
    const double v_r = randomizer->VarianceMaxIn(window);
    const double gram = Gram(request, t - then);
    information += gram / (sigma2 + v_r);
    noise += gram * v_r;
    then = t;
    return Remaining(spectrum, tau2, information);
  });
  candidate.noise = std::sqrt(noise);
  return candidate;
}

PlanCandidate Counter(const PlanRequest& request, const std::vector<double>& spectrum,
                      CounterKind kind) {
  PlanCandidate candidate{.counter = kind, .mechanism = MechanismId::kCounter};
  candidate.name = absl::StrFormat("counter (%s)", ToAbsl(CounterKindName(kind)));
  const auto options = CounterOptionsFor(request, kind);
  if (!options.ok()) return Excluded(candidate, options.status());
  const auto design = CounterDesign::Create(*options);
  if (!design.ok()) return Excluded(candidate, design.status());
  const double sigma2 = request.reward_stddev * request.reward_stddev;
  candidate.predicted = MeanRegret(request, spectrum, [&](double t) {
    const auto step = static_cast<std::uint64_t>(t);
    const double s = Gram(request, static_cast<double>(design->Covered(step)));
    return s == 0 ? 0 : s * s / (sigma2 * s + design->PredictedVariance(step));
  });
  candidate.noise = std::sqrt(design->PredictedVariance(request.events_per_node));
  return candidate;
}

// rho_t of a release with noise of covariance v Q^+ across the users of one component, all with S =
// s I: tr K / tr K_0 with H = s^2 Q^1/2 (sigma^2 s Q + v I)^-1 Q^1/2, in the eigenvectors of Q.
class ShapedError {
 public:
  ShapedError(const CouplingComponent& component, const NoiseShape& shape, double prior_variance)
      : prior_variance_(prior_variance) {
    const int n = static_cast<int>(component.nodes.size());
    const Eigen::Map<const Eigen::MatrixXd> p(component.prior.data(), n, n);
    const Eigen::Map<const Eigen::MatrixXd> q(shape.q.data(), n, n);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(q);
    values_ = solver.eigenvalues().cwiseMax(0);
    prior_ = solver.eigenvectors().transpose() * p * solver.eigenvectors();
  }

  double trace() const { return prior_.trace(); }
  // tr K / tau^2.
  double Remaining(double s, double variance, double v) const {
    const Eigen::ArrayXd q = values_.array();
    const Eigen::VectorXd root =
        (prior_variance_ * s * s * q / (variance * s * q + v)).sqrt().matrix();
    const Eigen::MatrixXd seen = root.asDiagonal() * prior_;  // H^1/2 P tau
    Eigen::MatrixXd a = seen * root.asDiagonal();
    a.diagonal().array() += 1;
    return prior_.trace() - (seen.transpose() * a.llt().solve(seen)).trace();
  }

 private:
  double prior_variance_;
  Eigen::VectorXd values_;
  Eigen::MatrixXd prior_;  // P in the eigenvectors of Q
};

PlanCandidate Shaped(const PlanRequest& request) {
  PlanCandidate candidate{.mechanism = MechanismId::kShapedCounter,
                          .users = request.coupling->nodes(),
                          .name = "shaped (blt)"};
  std::vector<ShapedError> errors;
  double all = 0;
  for (const CouplingComponent& component : request.coupling->components()) {
    const int n = static_cast<int>(component.nodes.size());
    if (n > kShapedNodesMax)
      return Excluded(candidate,
                      InvalidArgument("a component has more than ", kShapedNodesMax, " users"));
    const auto shape = ShapeNoise(component.prior, n);
    if (!shape.ok()) return Excluded(candidate, shape.status());
    errors.emplace_back(component, *shape, request.prior_stddev * request.prior_stddev);
    all += errors.back().trace();
  }
  auto options = CounterOptionsFor(request, CounterKind::kBlt);
  if (!options.ok()) return Excluded(candidate, options.status());
  const int nodes = request.coupling->nodes();
  options->dimension *= nodes;
  options->horizon *= nodes;
  options->step_cap *= nodes;
  const auto design = CounterDesign::Create(*options);
  if (!design.ok()) return Excluded(candidate, design.status());
  const double sigma2 = request.reward_stddev * request.reward_stddev;
  candidate.predicted = MeanOverTime(request, [&](double t) {
    const auto step = static_cast<std::uint64_t>(t * nodes);
    double left = 0;
    for (const ShapedError& error : errors)
      left += error.Remaining(Gram(request, t), sigma2, design->PredictedVariance(step));
    return left / all;
  });
  candidate.noise = std::sqrt(design->PredictedVariance(options->horizon));
  return candidate;
}

using OwnPrediction = PlanCandidate (*)(const PlanRequest& request,
                                        const std::vector<double>& spectrum);
using CoupledPrediction = PlanCandidate (*)(const PlanRequest& request);

// Mechanisms that can run besides the counters, where devices draw and where the server does.
struct ScopeRow {
  Mode mode;
  const char* name;
  std::span<const OwnPrediction> own;
  std::span<const CoupledPrediction> of_coupled_users;
};
constexpr OwnPrediction kLocalOwn[] = {Randomizer, Centred};
constexpr OwnPrediction kCentralOwn[] = {Randomizer};
constexpr CoupledPrediction kCentralCoupled[] = {Shaped};
constexpr ScopeRow kScopes[] = {
    {Mode::kLocalReward, "local", kLocalOwn, {}},
    {Mode::kCentralReward, "central", kCentralOwn, kCentralCoupled},
};

const ScopeRow* FindScope(Mode mode) {
  const auto* const row = std::find_if(std::begin(kScopes), std::end(kScopes),
                                       [mode](const ScopeRow& one) { return one.mode == mode; });
  return row == std::end(kScopes) ? nullptr : row;
}

}  // namespace

absl::StatusOr<CounterOptions> CounterOptionsFor(const PlanRequest& request, CounterKind kind) {
  BANDANA_RETURN_IF_ERROR(Check(request));
  if (request.delta.value == 0)
    return FailedPrecondition("a counter's noise is Gaussian: it needs delta > 0");
  CounterOptions options;
  options.kind = kind;
  options.dimension = request.dimension;
  options.norm_bound = request.feature_l2_max * request.rewards.width() / 2;
  BANDANA_ASSIGN_OR_RETURN(options.rho, CalibrateZcdp(request.epsilon, request.delta));
  options.horizon = request.events_per_node;
  options.step_cap = request.events_per_node;
  return options;
}

absl::StatusOr<Plan> MakePlan(const PlanRequest& request) {
  BANDANA_RETURN_IF_ERROR(Check(request));
  const std::vector<double> spectrum = SpectrumOf(request);
  const ScopeRow* const scope = FindScope(request.mode);
  if (scope == nullptr) return InvalidArgument("mode: must be LOCAL_REWARD or CENTRAL_REWARD");
  Plan plan{request, {}};
  for (const auto predict : scope->own) plan.candidates.push_back(predict(request, spectrum));
  for (const CounterKind kind : kCounterKinds) {
    // Toeplitz keeps the whole stream; hybrid is for streams without an expected length.
    if (kind == CounterKind::kToeplitz || kind == CounterKind::kHybrid) continue;
    plan.candidates.push_back(Counter(request, spectrum, kind));
  }
  if (!ComponentsOf(request).empty()) {
    for (const auto predict : scope->of_coupled_users) plan.candidates.push_back(predict(request));
  }
  std::stable_sort(plan.candidates.begin(), plan.candidates.end(),
                   [](const PlanCandidate& a, const PlanCandidate& b) {
                     if (a.excluded.empty() != b.excluded.empty()) return a.excluded.empty();
                     return a.predicted < b.predicted;
                   });
  if (!plan.best().excluded.empty()) return InvalidArgument(plan.best().excluded);
  return plan;
}

std::string ExplainPlan(const Plan& plan) {
  const PlanRequest& r = plan.request;
  std::string text = absl::StrFormat(
      "%s privacy of rewards, epsilon %g, delta %g, d = %d, %d events per user expected\n",
      FindScope(r.mode)->name, r.epsilon.value, r.delta.value, r.dimension, r.events_per_node);
  absl::StrAppendFormat(&text, "  %-22s %-18s %12s %12s\n", "mechanism", "guarantee",
                        "regret share", "noise sd");
  for (const PlanCandidate& c : plan.candidates) {
    if (!c.excluded.empty()) {
      absl::StrAppendFormat(&text, "  %-22s cannot be used: %s\n", c.name, c.excluded);
      continue;
    }
    absl::StrAppendFormat(&text, "%s %-22s %-18s %12.4f %12.4g\n",
                          &c == &plan.candidates.front() ? "*" : " ", c.name,
                          c.pure ? "epsilon" : "epsilon, delta", c.predicted, c.noise);
  }
  text +=
      "  * chosen. regret share: predicted regret as a share of a random policy's; noise sd: of an "
      "entry of beta_u at the end\n";
  return text;
}

}  // namespace bandana
