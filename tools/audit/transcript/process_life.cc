#include "tools/audit/transcript/process_life.h"

#include <algorithm>
#include <utility>

#include "tools/audit/transcript/seeded_bits.h"

namespace bandana::audit {
namespace {

// A call takes at most 60 ms here. None is under way when the reaction comes: that one would be
// seen to end with its process (docs/threat_model/arrival.md).
constexpr absl::Duration kWindowMin = absl::Seconds(2);
constexpr int kFirstChoicesMax = 6;
constexpr double kPaceMax = 0.05;  // windows between two of them

}  // namespace

bool HasProcessLife(const Combination& combination) {
  return combination.window && !combination.raw_caller &&
         combination.model.find("mode: LOCAL_") != std::string::npos;
}

void AddProcessLife(std::uint64_t seed, Scenario& scenario) {
  WorldRandom random(seed * 0x9e3779b97f4a7c15 + 37);
  constexpr ProcessLife kLives[] = {ProcessLife::kEnds, ProcessLife::kRestarts,
                                    ProcessLife::kSleeps};
  scenario.life = kLives[random.Below(3)];
  const absl::Duration window = scenario.window = std::max(scenario.window, kWindowMin);
  scenario.token_lifetime = absl::Hours(1) + 10 * window;
  scenario.choices.resize(std::min<std::size_t>(scenario.choices.size(), kFirstChoicesMax + 2));
  const int first = static_cast<int>(scenario.choices.size()) - 2;
  scenario.target = random.Below(first);
  Choice& target = scenario.choices[scenario.target];
  // All others come alike.
  for (Choice& choice : scenario.choices) choice.reactions[1] = choice.reactions[0];
  target.repeat.reset();
  target.reactions[0] = Reaction{.at = random.Between(0.35, 0.4), .value = 1.0};
  target.reactions[1].reset();
  if (random.Chance(0.5)) std::swap(target.reactions[0], target.reactions[1]);
  scenario.difference = "absence";
  std::vector<Step> steps;
  for (int i = 0; i < first; ++i) {
    steps.push_back(
        {.after = window * random.Between(0.01, kPaceMax), .act = Act::kSelect, .choice = i});
  }
  // After the reaction, while windows are open: a process that began again serves selections. A
  // process that has ended, or sleeps, makes none in either world.
  const Act then = scenario.life == ProcessLife::kRestarts ? Act::kSelect : Act::kRead;
  steps.push_back({.after = window / 2, .act = then, .choice = first});
  steps.push_back({.after = window * 2.5, .act = Act::kForeground});
  steps.push_back({.after = absl::Seconds(90), .act = Act::kRead});
  steps.push_back({.after = window / 2, .act = Act::kSelect, .choice = first + 1});
  for (int i = 0; i < 3; ++i) {
    steps.push_back({.after = window * 2.5, .act = Act::kForeground});
    steps.push_back({.after = absl::Seconds(90), .act = Act::kRead});
  }
  steps.push_back({.after = window, .act = Act::kReadPages});
  scenario.steps = std::move(steps);
}

}  // namespace bandana::audit
