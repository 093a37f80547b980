#include "common/promise/privacy_rules.h"

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/promise/mechanism_table.h"

namespace bandana {

void CheckMode(MechanismId mechanism, Mode mode, const FieldChecks& checks) {
  if (FindMechanism(mechanism, mode) != nullptr) return;
  checks.Add("mechanism", absl::StrCat("of mode ", ModeName(mode), " must be one of ",
                                       MechanismNames(mode), ", got ", MechanismName(mechanism)));
}

int DimensionMax(MechanismId mechanism) {
  const MechanismRow* const row = FindMechanism(mechanism);
  return row == nullptr ? kDimensionMax : row->dimension_max;
}

std::string MechanismNames(Mode mode) {
  std::string names = "AUTO";
  for (const MechanismRow& row : Mechanisms()) {
    if (FindMechanism(row.id, mode) == &row) {
      absl::StrAppend(&names, ", ", MechanismName(row.id));
    }
  }
  return names;
}

CounterSpec CheckCounter(std::string_view field, const wire::CounterPolicy& policy,
                         const FieldChecks& checks) {
  const FieldChecks inside = checks.Inside(field);
  const std::optional<CounterKind> kind = CounterKindOf(policy.kind);
  if (!kind) {
    inside.Add("kind", absl::StrCat("must be BLT, TREE, HONAKER or EPOCHS, got ", policy.kind));
  }
  CounterSpec spec{.kind = kind.value_or(CounterKind::kBlt)};
  spec.horizon = inside.Count("horizon", policy.horizon, 1, kCounterStepsMax);
  if (spec.horizon >= 1 && spec.horizon <= kCounterStepsMax) {
    spec.steps_max = inside.Count("steps_max", policy.steps_max, spec.horizon, kCounterStepsMax);
  }
  return spec;
}

Delta CheckDelta(const MechanismRow& row, double delta, bool research, const FieldChecks& checks) {
  if (!row.gaussian) {
    if (!(delta == 0)) checks.Add("delta", "must be 0: the mechanism is pure");
    return Delta{0};
  }
  const double max = research ? 1.0 : kDeltaPolicyMax;
  if (!(delta > 0 && delta <= max && delta < 1)) {
    checks.Add("delta", absl::StrCat("must be in (0, ", max, research ? ")" : "]", " for ",
                                     MechanismName(row.id),
                                     research ? "" : " unless research is true", ", got ", delta));
  }
  return Delta{delta};
}

}  // namespace bandana
