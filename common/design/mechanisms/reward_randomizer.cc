#include "common/design/mechanisms/reward_randomizer.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/mechanisms/reward_randomizer.h"

namespace bandana {
namespace {

struct KindWords {
  RandomizerKind kind;
  const char* words;
};
constexpr KindWords kKindWords[] = {
    {RandomizerKind::kRandomizedResponse, "randomized response on binary rewards"},
    {RandomizerKind::kStochasticRounding, "stochastic rounding to one bit"},
    {RandomizerKind::kHybrid, "hybrid of piecewise and one bit"},
};

std::string WordsOf(RandomizerKind kind) {
  for (const KindWords& row : kKindWords) {
    if (row.kind == kind) return row.words;
  }
  return "";
}

class Randomized final : public ServerMechanism {
 public:
  Randomized(RandomizerKind kind, std::string_view narrowing)
      : kind_(kind), narrowing_(narrowing) {}

  std::string Describe(const ModelSpec& spec) const override {
    const Mechanism& made = *spec.public_spec.made;
    std::string text =
        absl::StrFormat("%s, %s, worst-case reward noise sd %.3g%s", made.name(), WordsOf(kind_),
                        std::sqrt(made.reward_variance()), narrowing_);
    if (spec.config.privacy().delta() > 0) {
      absl::StrAppendFormat(&text, "; delta %g allowed, 0 used: the mechanism is pure",
                            spec.config.privacy().delta());
    }
    return text;
  }

 private:
  const RandomizerKind kind_;
  const std::string_view narrowing_;
};

MadeServerMechanism MakeRandomized(const PublicSpec& spec, std::string_view narrowing) {
  BANDANA_ASSIGN_OR_RETURN(
      const RewardRandomizer randomizer,
      RewardRandomizer::Create(
          {.epsilon = spec.epsilon, .range = spec.reward_range, .binary = spec.reward_binary}));
  return std::make_shared<Randomized>(randomizer.kind(), narrowing);
}

}  // namespace

MadeServerMechanism MakeServerRandomizer(const ModelSpec& spec) {
  return MakeRandomized(spec.public_spec, "");
}

MadeServerMechanism MakeServerCentred(const ModelSpec& spec) {
  return MakeRandomized(spec.public_spec, ", less as the posterior narrows");
}

void CheckCentredModel(const ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.effects) return;
  if (spec.effects->learn_scales) {
    checks.Add("effects.learn_scales",
               "is not for CENTRED_RANDOMIZER: windows and scales would feed each other");
  }
  if (spec.effects->weights) {
    checks.Add(
        "effects.weights",
        "is not for CENTRED_RANDOMIZER: its windows follow from widths that the weights set, "
        "and clip what the weights are learnt from");
  }
}

}  // namespace bandana
