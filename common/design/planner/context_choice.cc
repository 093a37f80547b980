#include "common/design/planner/context_choice.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/privacy_config.h"
#include "common/design/wire_messages.h"
#include "common/promise/context_reports.h"
#include "common/promise/privacy_rules.h"

namespace bandana {

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

}  // namespace bandana
