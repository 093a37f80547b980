#include "common/promise/mechanism_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/promise/privacy_rules.h"

namespace bandana {
namespace {

class Pure final : public DeltaRule {
 public:
  Delta Take(v1::Mechanism, const v1::Privacy&, const FieldChecks&) const override {
    return Delta{0};
  }
  Delta Check(v1::Mechanism, double delta, bool, const FieldChecks& checks) const override {
    if (!(delta == 0)) checks.Add("delta", "must be 0: the mechanism is pure");
    return Delta{0};
  }
};

class Gaussian final : public DeltaRule {
 public:
  Delta Take(v1::Mechanism mechanism, const v1::Privacy& privacy,
             const FieldChecks& checks) const override {
    if (privacy.delta() == 0) {
      checks.Add("delta", absl::StrCat("must be above 0 for ", v1::Mechanism_Name(mechanism),
                                       ": its noise is Gaussian"));
    }
    return Delta{privacy.delta()};
  }
  Delta Check(v1::Mechanism mechanism, double delta, bool research,
              const FieldChecks& checks) const override {
    const double max = research ? 1.0 : kDeltaPolicyMax;
    if (!(delta > 0 && delta <= max && delta < 1)) {
      checks.Add("delta",
                 absl::StrCat("must be in (0, ", max, research ? ")" : "]", " for ",
                              v1::Mechanism_Name(mechanism),
                              research ? "" : " unless research is true", ", got ", delta));
    }
    return Delta{delta};
  }
};

std::optional<CounterSpec> GivenCounter(const v1::Privacy& privacy, const FieldChecks& checks) {
  return CheckCounter("counter", WithDefaults(privacy.counter()), checks);
}

class Without final : public CounterRule {
 public:
  // A counter that AUTO may still use is checked.
  std::optional<CounterSpec> Take(v1::Mechanism mechanism, const v1::Privacy& privacy,
                                  const FieldChecks& checks) const override {
    if (!privacy.has_counter()) return std::nullopt;
    if (privacy.mechanism() == mechanism) {
      checks.Add("counter", absl::StrCat("is refused with mechanism ",
                                         v1::Mechanism_Name(mechanism), ", which has no counter"));
    }
    GivenCounter(privacy, checks);
    return std::nullopt;
  }
  std::optional<CounterSpec> Check(const v1::GetModelResponse& response,
                                   const FieldChecks& checks) const override {
    if (response.has_counter()) checks.Add("counter", "must be there exactly with a counter");
    return std::nullopt;
  }
};

class Own final : public CounterRule {
 public:
  std::optional<CounterSpec> Take(v1::Mechanism, const v1::Privacy& privacy,
                                  const FieldChecks& checks) const override {
    return GivenCounter(privacy, checks);
  }
  std::optional<CounterSpec> Check(const v1::GetModelResponse& response,
                                   const FieldChecks& checks) const override {
    if (response.has_counter()) return CheckCounter("counter", response.counter(), checks);
    checks.Add("counter", "must be there exactly with a counter");
    return std::nullopt;
  }
};

}  // namespace

const DeltaRule& PureDelta() {
  static const auto& rule = *new Pure();
  return rule;
}

const DeltaRule& GaussianDelta() {
  static const auto& rule = *new Gaussian();
  return rule;
}

const CounterRule& NoCounter() {
  static const auto& rule = *new Without();
  return rule;
}

const CounterRule& OwnCounter() {
  static const auto& rule = *new Own();
  return rule;
}

}  // namespace bandana
