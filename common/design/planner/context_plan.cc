#include "common/design/planner/context_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/mechanisms/noise_grid.h"
#include "common/mechanisms/privunit.h"

namespace bandana {
namespace {

absl::Status Check(const ContextPlanRequest& r) {
  if (r.dimension < 1 || r.dimension > kDimensionMax)
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ", r.dimension);
  const std::pair<std::string_view, double> scales[] = {{"context_l2_max", r.context_l2_max},
                                                        {"reward_abs_max", r.reward_abs_max},
                                                        {"theta_l2_max", r.theta_l2_max},
                                                        {"reward_stddev", r.reward_stddev},
                                                        {"prior_stddev", r.prior_stddev}};
  for (const auto& [name, value] : scales) {
    if (!(value > 0 && value <= kScaleMax))
      return InvalidArgument(ToAbsl(name), " must be in (0, ", kScaleMax, "], got ", value);
  }
  if (r.reports < 1 || r.reports > (std::uint64_t{1} << 40))
    return InvalidArgument("reports must be in [1, 2^40], got ", r.reports);
  if (!(r.epsilon.value > 0 && r.epsilon.value <= kEpsilonResearchMax)) {
    return InvalidArgument("epsilon must be in (0, ", kEpsilonResearchMax, "], got ",
                           r.epsilon.value);
  }
  if (!(r.delta.value >= 0 && r.delta.value < 1))
    return InvalidArgument("delta must be in [0, 1), got ", r.delta.value);
  return absl::OkStatus();
}

absl::StatusOr<JointStatistic> StatisticOf(const ContextPlanRequest& request, int grid_bits) {
  return JointStatistic::Create({.dimension = request.dimension,
                                 .context_l2_max = request.context_l2_max,
                                 .reward_abs_max = request.reward_abs_max,
                                 .grid_bits = grid_bits});
}

absl::StatusOr<ReportVariance> PrivUnitVariance(const ContextPlanRequest& request) {
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic,
                           StatisticOf(request, JointStatistic::Options{}.grid_bits));
  BANDANA_ASSIGN_OR_RETURN(const PrivUnit privunit, PrivUnit::Create(statistic, request.epsilon));
  const JointVariance variance = privunit.EntryVariance();
  return ReportVariance{variance.gram_diagonal, variance.moment};
}

absl::StatusOr<ReportVariance> GaussianVariance(const ContextPlanRequest& request) {
  if (request.delta.value == 0) return FailedPrecondition("delta is 0");
  BANDANA_ASSIGN_OR_RETURN(const int grid_bits,
                           JointGridBits(request.dimension, request.epsilon, request.delta));
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic, StatisticOf(request, grid_bits));
  BANDANA_ASSIGN_OR_RETURN(const GaussianMechanism gaussian,
                           GaussianMechanism::Create({.epsilon = request.epsilon,
                                                      .delta = request.delta,
                                                      .size = statistic.size(),
                                                      .sensitivity = statistic.l2_sensitivity()}));
  const double variance = std::ldexp(static_cast<double>(gaussian.sigma_squared()), -2 * grid_bits);
  const double l2 = request.context_l2_max * request.context_l2_max;
  return ReportVariance{variance * l2 * l2,
                        variance * l2 * request.reward_abs_max * request.reward_abs_max};
}

// The mean of 1 - sqrt(u s / (1 + u s)) over s in [0, 1].
double MeanShare(double u) {
  if (u < 1e-6) return 1 - std::sqrt(u) * 2 / 3;
  return std::clamp(1 - (std::sqrt(u * (1 + u)) - std::asinh(std::sqrt(u))) / u, 0.0, 1.0);
}

double Predicted(const ContextPlanRequest& r, const ReportVariance& variance) {
  const double gram = r.context_l2_max * r.context_l2_max / r.dimension;  // S / t
  const double noise = variance.moment + variance.gram * r.theta_l2_max * r.theta_l2_max;
  const double rate = r.prior_stddev * r.prior_stddev * gram * gram /
                      (r.reward_stddev * r.reward_stddev * gram + noise);
  return MeanShare(rate * static_cast<double>(r.reports));
}

ContextCandidate Candidate(const ContextPlanRequest& request, ContextMechanismKind kind,
                           const absl::StatusOr<ReportVariance>& variance) {
  ContextCandidate candidate{.kind = kind, .pure = kind == ContextMechanismKind::kPrivUnit};
  if (!variance.ok()) {
    candidate.excluded = std::string(variance.status().message());
    return candidate;
  }
  candidate.variance = *variance;
  candidate.predicted = Predicted(request, *variance);
  return candidate;
}

struct KindRow {
  std::string_view name;
  MechanismId mechanism;
};
// By kind.
constexpr KindRow kKinds[] = {{"privunit", MechanismId::kPrivUnit},
                              {"gaussian", MechanismId::kJointGaussian}};

const KindRow& RowOf(ContextMechanismKind kind) { return kKinds[static_cast<int>(kind)]; }

}  // namespace

std::string_view ContextMechanismName(ContextMechanismKind kind) { return RowOf(kind).name; }
MechanismId MechanismOf(ContextMechanismKind kind) { return RowOf(kind).mechanism; }

absl::StatusOr<ContextPlan> MakeContextPlan(const ContextPlanRequest& request) {
  BANDANA_RETURN_IF_ERROR(Check(request));
  ContextPlan plan{request, {}};
  plan.candidates.push_back(
      Candidate(request, ContextMechanismKind::kPrivUnit, PrivUnitVariance(request)));
  plan.candidates.push_back(
      Candidate(request, ContextMechanismKind::kGaussian, GaussianVariance(request)));
  std::stable_sort(plan.candidates.begin(), plan.candidates.end(),
                   [](const ContextCandidate& a, const ContextCandidate& b) {
                     if (a.excluded.empty() != b.excluded.empty()) return a.excluded.empty();
                     return a.predicted < b.predicted;
                   });
  if (!plan.best().excluded.empty())
    return InvalidArgument("no mechanism protects contexts here: ", plan.best().excluded);
  return plan;
}

std::string ExplainContextPlan(const ContextPlan& plan) {
  const ContextPlanRequest& r = plan.request;
  std::string text = absl::StrFormat(
      "local privacy of context and reward, epsilon %g, delta %g, d = %d, %d reports expected\n",
      r.epsilon.value, r.delta.value, r.dimension, r.reports);
  absl::StrAppendFormat(&text, "  %-12s %-16s %14s %12s\n", "mechanism", "guarantee",
                        "regret share", "noise sd");
  for (const ContextCandidate& candidate : plan.candidates) {
    absl::StrAppendFormat(&text, "%c %-12s %-16s ", &candidate == &plan.best() ? '*' : ' ',
                          ToAbsl(ContextMechanismName(candidate.kind)),
                          candidate.pure ? "epsilon" : "epsilon, delta");
    if (candidate.excluded.empty()) {
      absl::StrAppendFormat(&text, "%14.4f %12.4g\n", candidate.predicted,
                            std::sqrt(candidate.variance.moment));
    } else {
      absl::StrAppendFormat(&text, "%s\n", candidate.excluded);
    }
  }
  return text +
         "  * chosen. regret share: predicted regret as a share of a random policy's; noise sd: of "
         "an entry of one report's r x\n";
}

}  // namespace bandana
