// How mechanisms differ in the fields of a policy: objects that the table of mechanisms names.
#pragma once

#include <optional>

#include "common/promise/field_checks.h"
#include "common/promise/public_spec.h"

namespace bandana {

// A mechanism's use of delta.
class DeltaRule {
 public:
  virtual ~DeltaRule() = default;
  // The part that it spends of the delta that a configuration allows.
  virtual Delta Take(v1::Mechanism mechanism, const v1::Privacy& privacy,
                     const FieldChecks& checks) const = 0;
  // The delta of a policy in force.
  virtual Delta Check(v1::Mechanism mechanism, double delta, bool research,
                      const FieldChecks& checks) const = 0;
};
// It is pure: none, whatever is allowed.
const DeltaRule& PureDelta();
// Its noise is Gaussian: all of it, in (0, kDeltaPolicyMax], with `research` below 1.
const DeltaRule& GaussianDelta();

// Whether a mechanism has a counter's parameters.
class CounterRule {
 public:
  virtual ~CounterRule() = default;
  // From a configuration; where one is given, it is checked in any case.
  virtual std::optional<CounterSpec> Take(v1::Mechanism mechanism, const v1::Privacy& privacy,
                                          const FieldChecks& checks) const = 0;
  // From a policy in force.
  virtual std::optional<CounterSpec> Check(const v1::GetModelResponse& response,
                                           const FieldChecks& checks) const = 0;
};
const CounterRule& NoCounter();
const CounterRule& OwnCounter();

}  // namespace bandana
