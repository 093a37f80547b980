#include "tools/ctl/explain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/bandits/joint/joint_choice.h"
#include "common/bandits/sparse/residual_update.h"
#include "common/base/status.h"
#include "common/design/field_checks.h"
#include "common/design/privacy_rules.h"
#include "common/design/sparse_policy.h"
#include "common/mechanisms/sparse/sparse_release.h"
#include "common/planner/context_request.h"
#include "common/planner/planner.h"

namespace bandana {
namespace {

std::string InForce(const v1::GetModelResponse& model) {
  std::string text =
      absl::StrFormat("%s: %s, %s, epsilon %g, delta %g an event, guarantee %s\n", model.model(),
                      v1::Mode_Name(model.mode()), v1::Mechanism_Name(model.mechanism()),
                      model.epsilon(), model.delta(), model.guarantee());
  if (model.has_counter()) {
    absl::StrAppendFormat(&text, "counter %s, tuned to %d steps, at most %d\n",
                          v1::CounterKind_Name(model.counter().kind()), model.counter().horizon(),
                          model.counter().steps_max());
  }
  if (model.link() == v1::LOGISTIC) {
    text += "expected reward logistic in x . theta: devices report straightened events\n";
  }
  return text;
}

double OrOne(double value) { return value == 0 ? 1 : value; }

// The counters of contexts and rewards together, by predicted error.
absl::StatusOr<std::string> ExplainJoint(const v1::ModelDescription& description) {
  const v1::GetModelResponse& model = description.model();
  const v1::ModelConfig& config = description.config();
  JointModel::Options options;
  options.counter = {
      .dimension = static_cast<int>(model.dimension()),
      .context_l2_max = model.feature_l2_max(),
      .reward_abs_max = std::max(std::abs(model.reward_min()), std::abs(model.reward_max())),
      .epsilon = Epsilon{model.epsilon()},
      .delta = Delta{model.delta()},
      .horizon = model.counter().horizon(),
      .step_cap = model.counter().steps_max()};
  options.reward_stddev = OrOne(config.reward_stddev());
  options.prior_stddev = OrOne(config.prior_stddev());
  options.theta_l2_max = config.exploration().has_confidence()
                             ? OrOne(config.exploration().confidence().theta_l2_max())
                             : std::sqrt(model.dimension()) * options.prior_stddev;
  BANDANA_ASSIGN_OR_RETURN(const std::vector<JointPrediction> predictions,
                           PredictJoint(options, model.counter().horizon()));
  std::string text =
      absl::StrFormat("planned over %d events of one stream:\n", model.counter().horizon());
  for (const JointPrediction& one : predictions) {
    absl::StrAppendFormat(&text, "  counter (%s), predicted error %.4g of |theta|^2\n",
                          ToAbsl(CounterKindName(one.kind)), one.error);
  }
  return text;
}

// What an episode says about an entry, before anything is known.
absl::StatusOr<std::string> ExplainSparse(const v1::ModelDescription& description) {
  std::vector<ConfigError> errors;
  const auto spec = ParseModelConfig(description.config(), "", /*allow_files=*/false, errors);
  if (!spec) return ToStatus(errors);
  BANDANA_ASSIGN_OR_RETURN(const Fliphat fliphat, MakeFliphat(*spec));
  const FliphatOptions& o = fliphat.options();
  BANDANA_ASSIGN_OR_RETURN(
      const SparseRelease release,
      SparseRelease::Create({.picks = (o.sparsity + 1) / 2, .rho = fliphat.rho()}));
  const ResidualUpdateOptions update = {.dimension = o.dimension,
                                        .context_abs_max = o.context_abs_max,
                                        .context_stddev = o.context_stddev,
                                        .residual_abs_max = o.reward_abs_max};
  std::string text = absl::StrFormat(
      "at most %d entries; features clipped at %g, residuals at %.4g at first; rho %.4g of an "
      "event\nnoise of an entry, released at the end of an episode:\n",
      o.sparsity, o.context_abs_max, o.reward_abs_max, fliphat.rho().value);
  for (int length = 8; length <= 16; length += 2) {
    const double rows = std::ldexp(1, length);
    absl::StrAppendFormat(
        &text, "  of %5.0f events: sd %.3g\n", rows,
        release.stddev() * StepPerContribution(update, o.reward_abs_max, rows, kShareExpected));
  }
  return text;
}

// The mechanisms that a device may perturb its context and reward by.
absl::StatusOr<std::string> ExplainContexts(const v1::ModelDescription& description) {
  std::vector<ConfigError> errors;
  const auto spec = ParseModelConfig(description.config(), "", /*allow_files=*/false, errors);
  if (!spec) return ToStatus(errors);
  BANDANA_ASSIGN_OR_RETURN(const ContextPlan plan,
                           MakeContextPlan(ContextRequestOf(*spec)));
  return absl::StrCat("planned over all reports of the model:\n", ExplainContextPlan(plan));
}

}  // namespace

absl::StatusOr<std::string> Explain(const v1::ModelDescription& description) {
  const v1::GetModelResponse& model = description.model();
  if (model.mode() == v1::NON_PRIVATE) {
    return absl::StrCat(model.model(), ": NON_PRIVATE, no mechanism\n");
  }
  if (model.mechanism() == v1::SPARSE_RELEASE) {
    BANDANA_ASSIGN_OR_RETURN(const std::string episodes, ExplainSparse(description));
    return absl::StrCat(InForce(model), episodes);
  }
  if (model.mode() == v1::JOINT) {
    BANDANA_ASSIGN_OR_RETURN(const std::string planned, ExplainJoint(description));
    return absl::StrCat(InForce(model), planned);
  }
  if (description.config().has_arms() || description.config().has_points()) {
    return absl::StrCat(InForce(model), "the one mechanism for models of ",
                        description.config().has_arms() ? "arms" : "points", "\n");
  }
  if (model.mode() == v1::LOCAL_CONTEXT) {
    BANDANA_ASSIGN_OR_RETURN(const std::string planned, ExplainContexts(description));
    return absl::StrCat(InForce(model), planned);
  }
  const v1::Privacy& privacy = description.config().privacy();
  PlanRequest request;
  request.scope = model.mode() == v1::CENTRAL_REWARD ? PlanRequest::Scope::kCentral
                                                     : PlanRequest::Scope::kLocal;
  request.dimension = static_cast<int>(model.dimension());
  request.feature_l2_max = model.feature_l2_max();
  request.rewards = {.min = model.reward_min(), .max = model.reward_max()};
  request.rewards_binary = model.reward_binary();
  request.reward_stddev = OrOne(description.config().reward_stddev());
  request.prior_stddev = OrOne(description.config().prior_stddev());
  if (privacy.planned_events_per_user() > 0) {
    request.events_per_node = privacy.planned_events_per_user();
  }
  request.epsilon = Epsilon{model.epsilon()};
  request.delta = Delta{privacy.delta()};
  BANDANA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  // Descriptions leave graphs out.
  const char* const shaped =
      IsShaped(model.mechanism())
          ? "one counter over all users: the server's log weighs it with the graph\n"
          : "";
  return absl::StrCat(InForce(model), shaped, "planned, users taken as independent:\n",
                      ExplainPlan(plan));
}

}  // namespace bandana
