#include "common/design/planner/choice_table.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/coupling_table.h"
#include "common/design/planner/context_choice.h"
#include "common/design/planner/joint_choice.h"
#include "common/design/planner/reward_choice.h"
#include "common/design/planner/sparse_outlook.h"
#include "common/promise/field_checks.h"

namespace bandana {
namespace {

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
      {{Mode::kLocalReward, Mode::kCentralReward}, "effects", nullptr, OnlyOne},
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
