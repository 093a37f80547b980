#include "tools/audit/transcript/guess.h"

#include <algorithm>

namespace bandana::audit {

bool HasGuesser(const Combination& combination) {
  return combination.round_is_private && combination.api != CallerApi::kPersonalizer &&
         !combination.asking->NameOf(Choice{.number = 0, .features = {}}).empty();
}

void AddGuesser(Scenario& scenario) {
  scenario.choices[scenario.target].plain_name = true;
  const auto asked = std::ranges::find_if(scenario.steps, [&](const Step& step) {
    return step.act == Act::kSelect && step.choice == scenario.target;
  });
  scenario.steps.insert(
      asked + 1, {.after = scenario.window * 0.01, .act = Act::kGuess, .choice = scenario.target});
}

}  // namespace bandana::audit
