#include "common/promise/privacy_rules.h"

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/promise/mechanism_table.h"

namespace bandana {

std::uint64_t PlannedEvents(const v1::Privacy& privacy) {
  const std::uint64_t planned = privacy.planned_events_per_user();
  return planned == 0 ? kPlannedEventsDefault : planned;
}

void CheckMode(v1::Mechanism mechanism, v1::Mode mode, const FieldChecks& checks) {
  if (FindMechanism(mechanism, mode) != nullptr) return;
  checks.Add("mechanism",
             absl::StrCat("of mode ", v1::Mode_Name(mode), " must be one of ", MechanismNames(mode),
                          ", got ", v1::Mechanism_Name(mechanism)));
}

int DimensionMax(v1::Mechanism mechanism) {
  const MechanismRow* const row = FindMechanism(mechanism);
  return row == nullptr ? kDimensionMax : row->dimension_max;
}

std::string MechanismNames(v1::Mode mode) {
  std::string names = "AUTO";
  for (const MechanismRow& row : Mechanisms()) {
    if (FindMechanism(row.id, mode) == &row) {
      absl::StrAppend(&names, ", ", v1::Mechanism_Name(row.id));
    }
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

}  // namespace bandana
