#include "common/design/planner/choice_table.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/bandits/joint/joint_choice.h"
#include "common/bandits/joint/joint_model.h"
#include "common/bandits/sparse/residual_update.h"
#include "common/base/status.h"
#include "common/design/coupling_table.h"
#include "common/design/model_spec.h"
#include "common/design/planner/context_plan.h"
#include "common/design/planner/reward_choice.h"
#include "common/design/privacy_config.h"
#include "common/design/server_mechanism.h"
#include "common/design/wire_messages.h"
#include "common/mechanisms/centred_window.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/mechanisms/sparse/sparse_release.h"
#include "common/promise/context_reports.h"
#include "common/promise/field_checks.h"
#include "common/promise/mechanism_table.h"
#include "common/promise/privacy_rules.h"

namespace bandana {
namespace {

// The planner's input for a model of mode LOCAL_CONTEXT. With a curved link it describes the
// straightened events. Its delta is the one that the configuration allows, even where the mechanism
// in force uses none.
ContextPlanRequest ContextRequestOf(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  const v1::Privacy& privacy = spec.config.privacy();
  return {.dimension = p.dimension,
          .context_l2_max = p.feature_l2_max,
          .reward_abs_max = ReportedRewardAbsMax(p),
          .theta_l2_max = spec.theta_l2_max,
          .reward_stddev = std::sqrt(spec.bandit.observation_variance),
          .prior_stddev = std::sqrt(spec.bandit.prior_variance),
          .reports = PlannedEvents(privacy),
          .epsilon = p.epsilon,
          .delta = Delta{privacy.delta()}};
}

// Errors: INVALID_ARGUMENT none can run.
absl::StatusOr<PlannedMechanism> ChooseForContexts(const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const ContextPlan plan, MakeContextPlan(ContextRequestOf(spec)));
  PlannedMechanism planned{.privacy = spec.config.privacy()};
  planned.privacy.set_mechanism(ToProto(MechanismOf(plan.best().kind)));
  planned.text = absl::StrCat("AUTO: ", ToAbsl(ContextMechanismName(plan.best().kind)), "\n",
                              ExplainContextPlan(plan));
  return planned;
}

absl::StatusOr<std::string> ExplainContexts(const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const ContextPlan plan, MakeContextPlan(ContextRequestOf(spec)));
  return absl::StrCat("planned over all reports of the model:\n", ExplainContextPlan(plan));
}

// The input of the prediction: a counter of `steps_max` steps at most, tuned to `horizon`.
JointModel::Options JointRequestOf(const ModelSpec& spec, std::uint64_t horizon,
                                   std::uint64_t steps_max) {
  const PublicSpec& p = spec.public_spec;
  JointModel::Options options;
  options.counter = {.dimension = p.dimension,
                     .context_l2_max = p.feature_l2_max,
                     .reward_abs_max = p.reward_range.abs_max(),
                     .epsilon = p.epsilon,
                     .delta = p.delta,
                     .horizon = horizon,
                     .step_cap = steps_max};
  options.reward_stddev = std::sqrt(spec.bandit.observation_variance);
  options.prior_stddev = std::sqrt(spec.bandit.prior_variance);
  options.theta_l2_max = spec.theta_l2_max;
  return options;
}

// The counter of the least predicted error over the events of one node that are planned for.
// Errors: INVALID_ARGUMENT none can run.
absl::StatusOr<PlannedMechanism> ChooseJointCounter(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  const std::uint64_t planned = PlannedEvents(spec.config.privacy());
  BANDANA_ASSIGN_OR_RETURN(
      std::vector<JointPrediction> predictions,
      PredictJoint(JointRequestOf(spec, planned, std::min(2 * planned, kCounterStepsMax)),
                   planned));
  std::stable_sort(
      predictions.begin(), predictions.end(),
      [](const JointPrediction& a, const JointPrediction& b) { return a.error < b.error; });
  PlannedMechanism choice{.privacy = spec.config.privacy()};
  NameCounter(p.mechanism, predictions.front().kind, planned, choice.privacy);
  choice.text = absl::StrFormat(
      "AUTO: counter (%s) of contexts and rewards\njoint privacy, epsilon %g, delta %g, d = %d, %d "
      "events planned\n",
      ToAbsl(CounterKindName(predictions.front().kind)), p.epsilon.value, p.delta.value,
      p.dimension, planned);
  for (const JointPrediction& one : predictions) {
    absl::StrAppendFormat(&choice.text, "%s counter (%s), predicted error %.4g of |theta|^2\n",
                          &one == &predictions.front() ? "*" : " ",
                          ToAbsl(CounterKindName(one.kind)), one.error);
  }
  return choice;
}

// As above for the counter in force.
absl::StatusOr<std::string> ExplainJointCounter(const ModelSpec& spec) {
  const CounterSpec& counter = *spec.public_spec.counter;
  BANDANA_ASSIGN_OR_RETURN(
      const std::vector<JointPrediction> predictions,
      PredictJoint(JointRequestOf(spec, counter.horizon, counter.steps_max), counter.horizon));
  std::string text = absl::StrFormat("planned over %d events of one stream:\n", counter.horizon);
  for (const JointPrediction& one : predictions) {
    absl::StrAppendFormat(&text, "  counter (%s), predicted error %.4g of |theta|^2\n",
                          ToAbsl(CounterKindName(one.kind)), one.error);
  }
  return text;
}

// An episode's information about an entry, before anything is known. Requires a sparse model.
absl::StatusOr<std::string> ExplainSparse(const ModelSpec& spec) {
  const Fliphat& fliphat = *spec.mechanism->sparse();
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

// Models of effects: either mechanism's noise, and what it makes of the weights that effects have
// with one of them alone. The shares of regret are measured
// (docs/design/effect_weights.md#weights), with epsilon 2, beside the randomizer without weights.
absl::StatusOr<std::string> ExplainEffects(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  BANDANA_ASSIGN_OR_RETURN(
      const RewardRandomizer randomizer,
      RewardRandomizer::Create(
          {.epsilon = p.epsilon, .range = p.reward_range, .binary = p.reward_binary}));
  std::string text = absl::StrFormat(
      "AUTO takes REWARD_RANDOMIZER for models of effects:\n"
      "  REWARD_RANDOMIZER   noise sd %.3g per report; weights of effects leave 0.67 to 0.99 of "
      "the "
      "regret%s\n",
      std::sqrt(randomizer.VarianceMax()),
      spec.effects->weights ? "" : ", and this model has none");
  const bool centred = FindMechanism(MechanismId::kCentredRandomizer, p.mode) != nullptr;
  if (!centred || p.reward_binary) return text;
  const RewardRange window = CentredWindow(p.reward_range, p.reward_range.middle(), /*width=*/0,
                                           spec.reward_stddev, p.epsilon);
  absl::StrAppendFormat(
      &text,
      "  CENTRED_RANDOMIZER  noise sd %.3g to %.3g per report, less as the posterior narrows; it "
      "leaves 0.92 to 0.99 of the regret, and has no weights\n",
      std::sqrt(randomizer.VarianceMaxIn(window)), std::sqrt(randomizer.VarianceMax()));
  return text;
}

struct ChoiceRow {
  std::vector<Mode> modes;
  std::string_view family;
  absl::StatusOr<PlannedMechanism> (*choose)(const ModelSpec& spec);  // nullptr: there is one
  absl::StatusOr<std::string> (*explain)(const PublicSpec& policy, const v1::ModelConfig& config);
};

// For explanations that need the whole configuration; it has no graph.
template <absl::StatusOr<std::string> (*kExplain)(const ModelSpec& spec)>
absl::StatusOr<std::string> OfConfig(const PublicSpec&, const v1::ModelConfig& config) {
  std::vector<ConfigError> errors;
  const auto spec = ParseModelConfig(config, "", /*allow_files=*/false, errors);
  if (!spec) return ToStatus(errors);
  return kExplain(*spec);
}

absl::StatusOr<std::string> OnlyOne(const PublicSpec&, const v1::ModelConfig& config) {
  return absl::StrCat("the one mechanism for models of ",
                      ToAbsl(CouplingOf(config).family().name()), "\n");
}

const std::vector<ChoiceRow>& Rows() {
  static const auto& rows = *new std::vector<ChoiceRow>{
      {{Mode::kLocalReward, Mode::kCentralReward}, "linear", ChooseForRewards, ExplainRewards},
      {{Mode::kLocalReward}, "arms", nullptr, OnlyOne},
      {{Mode::kLocalReward}, "points", nullptr, OnlyOne},
      {{Mode::kLocalReward, Mode::kCentralReward}, "effects", nullptr, OfConfig<ExplainEffects>},
      {{Mode::kJoint}, "linear", ChooseJointCounter, OfConfig<ExplainJointCounter>},
      {{Mode::kJoint}, "sparse", nullptr, OfConfig<ExplainSparse>},
      {{Mode::kLocalContext}, "linear", ChooseForContexts, OfConfig<ExplainContexts>},
  };
  return rows;
}

// nullptr: nothing is chosen for models without privacy, or families that the mode is not for.
const ChoiceRow* FindRow(Mode mode, const v1::ModelConfig& config) {
  for (const ChoiceRow& row : Rows()) {
    if (row.family == CouplingOf(config).family().name() &&
        std::find(row.modes.begin(), row.modes.end(), mode) != row.modes.end()) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::optional<PlannedMechanism>> ChooseMechanism(const ModelSpec& spec) {
  const ChoiceRow* const row = FindRow(spec.public_spec.mode, spec.config);
  if (row == nullptr || row->choose == nullptr) return std::optional<PlannedMechanism>();
  BANDANA_ASSIGN_OR_RETURN(PlannedMechanism planned, row->choose(spec));
  return std::optional(std::move(planned));
}

absl::StatusOr<std::string> ExplainChoice(const PublicSpec& policy, const v1::ModelConfig& config) {
  const ChoiceRow* const row = FindRow(policy.mode, config);
  if (row == nullptr) return std::string();
  return row->explain(policy, config);
}

}  // namespace bandana
