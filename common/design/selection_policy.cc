#include "common/design/selection_policy.h"

#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/promise/mode.h"
#include "common/ranking/policies/selection_rules.h"

namespace bandana {
namespace {

constexpr std::uint64_t kDrawsDefault = 100;
constexpr std::uint64_t kDrawsMax = 1000;
constexpr double kThompsonShareDefault = 0.01;
constexpr double kGammaMax = 1e9;

using Rule = std::shared_ptr<const SelectionRule>;

Rule ParseUniformMix(const v1::SelectionPolicy& policy, const ModelSpec&,
                     const FieldChecks& checks) {
  const double share = checks.Positive("uniform_share", policy.uniform_mix().uniform_share(), 1);
  return share > 0 && share <= 1 ? MakeUniformMix(share) : nullptr;
}

// An effect of features that several arms share would need draws of a vector per value of the
// group; an arm's own needs one number.
void CheckEffectsToDraw(const ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.effects) return;
  for (const EffectTerm& term : spec.effects->terms) {
    if (!term.effect.vector || term.scope.arm <= 0) continue;
    checks.Add("draws", absl::StrCat("cannot be made of effect ", term.effect.name,
                                     ": it is of the features of arms and of a group of arms"));
  }
}

Rule ParseThompson(const v1::SelectionPolicy& policy, const ModelSpec& spec,
                   const FieldChecks& checks) {
  const v1::ThompsonSampling& given = policy.thompson();
  const std::uint64_t draws =
      checks.Count("draws", given.draws() == 0 ? kDrawsDefault : given.draws(), 1, kDrawsMax);
  const double share = given.has_uniform_share() ? given.uniform_share() : kThompsonShareDefault;
  checks.Closed("uniform_share", share, 0, 1);
  CheckEffectsToDraw(spec, checks);
  const bool right = draws >= 1 && draws <= kDrawsMax && share >= 0 && share <= 1;
  return right ? MakeThompson(static_cast<int>(draws), share) : nullptr;
}

Rule ParseSoftmax(const v1::SelectionPolicy& policy, const ModelSpec&, const FieldChecks& checks) {
  const double temperature =
      checks.Positive("temperature", policy.softmax().temperature(), kScaleMax);
  return temperature > 0 ? MakeSoftmax(temperature) : nullptr;
}

Rule ParseInverseGap(const v1::SelectionPolicy& policy, const ModelSpec&,
                     const FieldChecks& checks) {
  const double gamma = checks.Positive("gamma", policy.inverse_gap().gamma(), kGammaMax);
  return gamma > 0 ? MakeInverseGap(gamma) : nullptr;
}

struct PolicyRow {
  v1::SelectionPolicy::RuleCase rule;
  std::string_view field;
  Rule (*parse)(const v1::SelectionPolicy& policy, const ModelSpec& spec,
                const FieldChecks& checks);
};
constexpr PolicyRow kPolicies[] = {
    {v1::SelectionPolicy::kUniformMix, "uniform_mix", ParseUniformMix},
    {v1::SelectionPolicy::kThompson, "thompson", ParseThompson},
    {v1::SelectionPolicy::kSoftmax, "softmax", ParseSoftmax},
    {v1::SelectionPolicy::kInverseGap, "inverse_gap", ParseInverseGap},
};

}  // namespace

void ParseSelectionPolicy(const v1::ModelConfig& config, ModelSpec& spec,
                          const FieldChecks& checks) {
  if (!config.has_policy()) return;
  const ModeRow* const mode = FindMode(spec.public_spec.mode);
  if (mode == nullptr) return;  // a mistake that others report
  if (!mode->no_policy.empty()) return checks.Add("policy", std::string(mode->no_policy));
  const Family& family = FamilyOf(spec);
  if (!family.scope().own_choice.empty()) {
    return checks.Add("policy", absl::StrCat("is not for ", ToAbsl(family.scope().plural), ": ",
                                             ToAbsl(family.scope().own_choice)));
  }
  const FieldChecks inside = checks.Inside("policy");
  for (const PolicyRow& row : kPolicies) {
    if (row.rule != config.policy().rule_case()) continue;
    spec.policy = row.parse(config.policy(), spec, inside.Inside(row.field));
    return;
  }
  inside.Add("rule", "must be uniform_mix, thompson, softmax or inverse_gap");
}

absl::Status CheckRankedByScore(const ModelSpec& spec) {
  if (spec.policy == nullptr || spec.policy->ranks_by_score()) return absl::OkStatus();
  return FailedPrecondition(
      "model ", spec.public_spec.name,
      " draws its arms by a policy: they are ranked by the server, by Select");
}

}  // namespace bandana
