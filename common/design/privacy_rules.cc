#include "common/design/privacy_rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"

namespace bandana {

namespace {

const std::vector<MechanismRule>& Rules() {
  static const std::vector<MechanismRule> rules = {
      {.mechanism = v1::REWARD_RANDOMIZER,
       .modes = {v1::LOCAL_REWARD, v1::CENTRAL_REWARD},
       .pure = true},
      {.mechanism = v1::CENTRED_RANDOMIZER, .modes = {v1::LOCAL_REWARD}, .pure = true},
      {.mechanism = v1::COUNTER,
       .modes = {v1::LOCAL_REWARD, v1::CENTRAL_REWARD, v1::JOINT},
       .counter = true},
      {.mechanism = v1::SHAPED_COUNTER, .modes = {v1::CENTRAL_REWARD}, .counter = true},
      {.mechanism = v1::POOLED_COUNTER, .modes = {v1::CENTRAL_REWARD}, .counter = true},
      {.mechanism = v1::PRIVUNIT, .modes = {v1::LOCAL_CONTEXT}, .pure = true},
      {.mechanism = v1::JOINT_GAUSSIAN, .modes = {v1::LOCAL_CONTEXT}},
      {.mechanism = v1::SPARSE_RELEASE, .modes = {v1::JOINT}},
  };
  return rules;
}

bool IsFor(const MechanismRule& rule, v1::Mode mode) {
  return std::find(rule.modes.begin(), rule.modes.end(), mode) != rule.modes.end();
}

}  // namespace

bool IsPrivateMode(v1::Mode mode) {
  return std::any_of(Rules().begin(), Rules().end(),
                     [mode](const MechanismRule& rule) { return IsFor(rule, mode); });
}

const MechanismRule* FindMechanism(v1::Mechanism mechanism) {
  for (const MechanismRule& rule : Rules()) {
    if (rule.mechanism == mechanism) return &rule;
  }
  return nullptr;
}

void CheckMode(const MechanismRule& rule, v1::Mode mode, const FieldChecks& checks) {
  if (IsFor(rule, mode)) return;
  checks.Add("mechanism",
             absl::StrCat("of mode ", v1::Mode_Name(mode), " must be one of ", MechanismNames(mode),
                          ", got ", v1::Mechanism_Name(rule.mechanism)));
}

int DimensionMax(v1::Mechanism mechanism) {
  return mechanism == v1::SPARSE_RELEASE ? kSparseDimensionMax : kDimensionMax;
}

std::string MechanismNames(v1::Mode mode) {
  std::string names = "AUTO";
  for (const MechanismRule& rule : Rules()) {
    if (IsFor(rule, mode)) absl::StrAppend(&names, ", ", v1::Mechanism_Name(rule.mechanism));
  }
  return names;
}

CounterSpec CheckCounter(std::string_view field, const v1::CounterPolicy& policy,
                         const FieldChecks& checks) {
  const FieldChecks inside = checks.Inside(field);
  const v1::CounterKind kind = policy.kind();
  if (kind < v1::BLT || kind > v1::EPOCHS) {
    inside.Add("kind",
               absl::StrCat("must be BLT, TREE, HONAKER or EPOCHS, got ", static_cast<int>(kind)));
  }
  CounterSpec spec{.kind = kind};
  spec.horizon = inside.Count("horizon", policy.horizon(), 1, kCounterStepsMax);
  if (spec.horizon >= 1 && spec.horizon <= kCounterStepsMax) {
    spec.steps_max = inside.Count("steps_max", policy.steps_max(), spec.horizon, kCounterStepsMax);
  }
  return spec;
}

v1::CounterPolicy WithDefaults(v1::CounterPolicy policy) {
  if (policy.kind() == v1::COUNTER_KIND_UNSPECIFIED) policy.set_kind(v1::BLT);
  if (policy.horizon() == 0) policy.set_horizon(kCounterHorizonDefault);
  if (policy.steps_max() == 0) policy.set_steps_max(kCounterStepsMax);
  return policy;
}

v1::CounterPolicy CounterToProto(const CounterSpec& counter) {
  v1::CounterPolicy policy;
  policy.set_kind(counter.kind);
  policy.set_horizon(counter.horizon);
  policy.set_steps_max(counter.steps_max);
  return policy;
}

Delta CheckDelta(double delta, v1::Mechanism mechanism, bool research, const FieldChecks& checks) {
  const MechanismRule* rule = FindMechanism(mechanism);
  if (rule == nullptr || rule->pure) {
    if (!(delta == 0)) checks.Add("delta", "must be 0: the mechanism is pure");
    return Delta{0};
  }
  const double max = research ? 1.0 : kDeltaPolicyMax;
  if (!(delta > 0 && delta <= max && delta < 1)) {
    checks.Add("delta", absl::StrCat("must be in (0, ", max, research ? ")" : "]", " for ",
                                     v1::Mechanism_Name(mechanism),
                                     research ? "" : " unless research is true", ", got ", delta));
  }
  return Delta{delta};
}

}  // namespace bandana
