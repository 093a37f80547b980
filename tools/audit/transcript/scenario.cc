#include "tools/audit/transcript/scenario.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tools/audit/transcript/process_life.h"
#include "tools/audit/transcript/seeded_bits.h"

namespace bandana::audit {
namespace {

// Whether its callers choose names of decisions whose contexts are private. Those of Personalizer's
// clients are looked at by its HTTP API.
bool HasGuesser(const Combination& combination) {
  return combination.round_is_private && combination.api != CallerApi::kPersonalizer &&
         !combination.asking->NameOf(Choice{.number = 0, .features = {}}).empty();
}

// The round that differs is asked for under a name that can be guessed. A second caller of the same
// principal then repeats it, with the round of the first world.
void AddGuesser(Scenario& scenario) {
  scenario.choices[scenario.target].plain_name = true;
  const auto asked = std::ranges::find_if(scenario.steps, [&](const Step& step) {
    return step.act == Act::kSelect && step.choice == scenario.target;
  });
  scenario.steps.insert(
      asked + 1, {.after = scenario.window * 0.01, .act = Act::kGuess, .choice = scenario.target});
}

constexpr int kDimension = 3;

struct Weight {
  Act act;
  int weight;
};
// Weights of the acts beside selections.
constexpr Weight kWeights[] = {
    {Act::kRead, 8},          {Act::kReadPages, 3},   {Act::kLook, 4},
    {Act::kSleep, 2},         {Act::kDeviceClock, 2}, {Act::kServerClock, 1},
    {Act::kRestartDevice, 3}, {Act::kKillDevice, 2},  {Act::kRestartServer, 2},
    {Act::kKillServer, 1},    {Act::kOpenEpoch, 2},   {Act::kPeerEpoch, 2},
    {Act::kPeerPolicy, 2},    {Act::kEntropy, 2},     {Act::kCheckpoint, 2},
    {Act::kRefresh, 2},       {Act::kFullDisk, 2},    {Act::kUpdate, 2},
    {Act::kDelete, 1},
};

Act DrawAct(WorldRandom& random) {
  int total = 0;
  for (const Weight& one : kWeights) total += one.weight;
  int left = random.Below(total);
  for (const Weight& one : kWeights) {
    if (left < one.weight) return one.act;
    left -= one.weight;
  }
  return Act::kRead;
}

double DrawReward(WorldRandom& random, bool binary) {
  if (binary) return random.Below(2);
  // Out of range now and then.
  return random.Between(-0.3, 1.3);
}

std::optional<Reaction> DrawReaction(WorldRandom& random, const Combination& combination) {
  if (combination.window && random.Chance(0.35)) return std::nullopt;
  Reaction reaction{.at = random.Between(0.01, combination.window ? 1.15 : 2.0)};
  const bool binary = combination.model.find("reward_binary") != std::string::npos;
  if (!random.Chance(0.1)) reaction.value = DrawReward(random, binary);
  return reaction;
}

std::vector<double> DrawFeatures(WorldRandom& random, int arms) {
  std::vector<double> features(static_cast<std::size_t>(arms) * kDimension);
  for (double& one : features) one = random.Between(-0.7, 0.7);
  return features;
}

Choice DrawChoice(WorldRandom& random, const Combination& combination) {
  Choice choice{.user = random.Below(kUsers), .arms = 2 + random.Below(4)};
  choice.features = DrawFeatures(random, choice.arms);
  choice.top_k = 1 + random.Below(3);
  choice.shown = random.Below(std::min(choice.top_k, choice.arms));
  choice.reactions[0] = choice.reactions[1] = DrawReaction(random, combination);
  if (combination.window && random.Chance(0.3)) {
    choice.repeat = Reaction{.at = random.Between(0.3, 1.2), .value = random.Unit()};
  }
  return choice;
}

// Gives the second world another reaction to the choice.
std::string Differ(WorldRandom& random, const Combination& combination, Choice& choice) {
  auto& [one, other] = choice.reactions;
  const bool binary = combination.model.find("reward_binary") != std::string::npos;
  const int kind = combination.window ? random.Below(3) : 0;
  one = Reaction{.at = random.Between(0.01, combination.window ? 0.95 : 2.0),
                 .value = DrawReward(random, binary)};
  other = one;
  if (kind == 0) {
    other->value = binary ? 1 - *one->value : DrawReward(random, binary);
    if (random.Chance(0.1)) other->value.reset();
    return "value";
  }
  if (kind == 1) {
    other.reset();
  } else {
    other->at = random.Between(0.01, 1.1);
  }
  if (random.Chance(0.5)) std::swap(one, other);
  return kind == 1 ? "absence" : "moment";
}

// Values that are no features: too long, or not finite. Where contexts are private they must not
// decide anything.
void MakeOdd(WorldRandom& random, std::vector<double>& features) {
  constexpr double kOdd[] = {3, -1e300, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()};
  features[random.Below(static_cast<int>(features.size()))] = kOdd[random.Below(4)];
}

// Gives the second world another round. Drawn apart: without it the schedule is the same.
void DifferInRound(std::uint64_t seed, Scenario& scenario) {
  WorldRandom random(seed * 0x9e3779b97f4a7c15 + 37);
  Choice& target = scenario.choices[scenario.target];
  // Both worlds get an equal reaction.
  auto& [one, other] = target.reactions;
  other = one = one ? one : other;
  const int least = target.shown + 1;  // the rank that is shown must be there
  const bool other_arms = random.Chance(0.5);
  const int arms = other_arms ? std::max(least, 1 + random.Below(5)) : target.arms;
  std::vector<double> features = DrawFeatures(random, arms);
  if (random.Chance(0.25)) MakeOdd(random, features);
  if (random.Chance(0.1)) MakeOdd(random, target.features);
  target.other_features = std::move(features);
  scenario.differs = Differs::kRound;
  scenario.difference = arms == target.arms ? "features" : "arms";
}

std::vector<Step> DrawSteps(WorldRandom& random, absl::Duration window, int choices) {
  // How much happens in one window: few, or many decisions that are open together.
  const double pace = random.Chance(0.3) ? 0.02 : random.Between(0.05, 0.4);
  const double share = random.Between(0.3, 0.6);  // of selections
  std::vector<Step> steps;
  int next = 0;
  while (next < choices) {
    Step step{.after = window * random.Between(0, 2 * pace)};
    if (random.Chance(0.04)) step.after = window * random.Between(1, 4);
    if (next == 0 || random.Chance(share)) {
      step.act = Act::kSelect;
      step.choice = next++;
    } else {
      step.act = DrawAct(random);
      step.amount = step.act == Act::kSleep ? random.Between(0.2, 4)
                    : step.act == Act::kDeviceClock || step.act == Act::kServerClock
                        ? random.Between(-1, 1)
                        : random.Unit();
    }
    steps.push_back(step);
  }
  // Open windows close, and the models are read.
  for (int i = 0; i < 3; ++i) {
    steps.push_back({.after = window * random.Between(0.2, 1.5), .act = Act::kRead});
  }
  steps.push_back({.after = window, .act = Act::kEntropy, .amount = 1});
  steps.push_back({.after = absl::Seconds(90) + window, .act = Act::kLook});
  steps.push_back({.after = window, .act = Act::kReadPages});
  steps.push_back({.after = window, .act = Act::kRead});
  return steps;
}

// More windows open at once than the device looks at in one transaction, all overdue when it wakes.
void MakeBurst(WorldRandom& random, Scenario& scenario) {
  constexpr int kChoices = 300;
  auto& [one, other] = scenario.choices[scenario.target].reactions;  // another one will differ
  other = one;
  while (scenario.choices.size() < kChoices) {
    Choice choice = scenario.choices.front();
    choice.user = random.Below(kUsers);
    choice.reactions[0] = choice.reactions[1] = DrawReaction(random, *scenario.combination);
    choice.repeat.reset();
    scenario.choices.push_back(std::move(choice));
  }
  scenario.target = random.Below(kChoices);
  scenario.difference = Differ(random, *scenario.combination, scenario.choices[scenario.target]);
  scenario.queue_reports_max = 2 * kChoices;
  scenario.deliveries_in_flight_max = 8;
  scenario.reports_per_delivery_max = 32;
  scenario.trouble = 0.05;
  const absl::Duration window = scenario.window;
  std::vector<Step> steps;
  steps.reserve(kChoices + 8);
  for (int i = 0; i < kChoices; ++i) {
    steps.push_back({.after = window / 1000, .act = Act::kSelect, .choice = i});
  }
  const Act stops[] = {Act::kSleep, Act::kRestartDevice, Act::kKillDevice};
  steps.push_back({.after = window * 0.3, .act = Act::kLook});
  steps.push_back({.after = window * 0.1, .act = Act::kSleep, .amount = 3});
  steps.push_back({.after = window * 2.5, .act = stops[random.Below(3)], .amount = 1});
  for (int i = 0; i < 3; ++i) steps.push_back({.after = window, .act = Act::kRead});
  steps.push_back({.after = absl::Seconds(90), .act = Act::kLook});
  steps.push_back({.after = window, .act = Act::kReadPages});
  scenario.steps = std::move(steps);
}

// Moves of the alias among the other steps. Drawn apart from these: without them they are the same.
void AddAliasMoves(std::uint64_t seed, Scenario& scenario) {
  WorldRandom random(seed * 0x9e3779b97f4a7c15 + 29);
  scenario.aliased = true;
  std::vector<Step> steps;
  for (Step& step : scenario.steps) {
    if (random.Chance(0.12)) {
      const absl::Duration before = step.after * random.Unit();
      steps.push_back({.after = before, .act = Act::kAlias, .amount = random.Unit()});
      step.after -= before;
    }
    steps.push_back(step);
  }
  scenario.steps = std::move(steps);
}

// The target's user is deleted while the window is open, after one of the reactions. Drawn apart,
// as above.
void AddDeletion(std::uint64_t seed, Scenario& scenario) {
  WorldRandom random(seed * 0x9e3779b97f4a7c15 + 31);
  const Choice& target = scenario.choices[scenario.target];
  double reacted = 2;
  for (const auto& reaction : target.reactions) {
    if (reaction) reacted = std::min(reacted, reaction->at);
  }
  const double moment = reacted + random.Unit() * std::max(0.0, 0.98 - reacted);
  absl::Duration left = scenario.window * moment;
  auto step = scenario.steps.begin();
  while (step->act != Act::kSelect || step->choice != scenario.target) ++step;
  for (++step; step != scenario.steps.end() && step->after <= left; ++step) left -= step->after;
  if (step != scenario.steps.end()) step->after -= left;
  scenario.steps.insert(
      step, {.after = left, .act = Act::kDelete, .amount = (target.user + 0.5) / kUsers});
}

// A rate of calls that those who select and read use up. Calls of Report have one of their own,
// which a schedule of callers without the SDK never does: it allows all of them at once. Drawn
// apart, as above.
void AddRate(std::uint64_t seed, Scenario& scenario) {
  WorldRandom random(seed * 0x9e3779b97f4a7c15 + 43);
  if (!random.Chance(0.2)) return;
  std::uint32_t reports = 1;
  for (const Choice& choice : scenario.choices) {
    reports += (choice.reactions[0] || choice.reactions[1] ? 1 : 0) + (choice.repeat ? 1 : 0);
  }
  scenario.rate = {.calls_per_second = 2 / absl::ToDoubleSeconds(scenario.window),
                   .burst = reports};
}

// One in so many seeds of a combination is asked for by an alias, one has its deletion.
constexpr std::uint64_t kSeedsPerAlias = 3;
constexpr std::uint64_t kAliasAt = 1;
constexpr std::uint64_t kDeletionAt = 2;

// One in so many seeds of a combination with windows is a burst: it takes as long as ten others.
constexpr std::uint64_t kSeedsPerBurst = 20;
constexpr std::uint64_t kBurstAt = 7;
// One in so many seeds of those that can has a reaction that decides about the process.
constexpr std::uint64_t kSeedsPerLife = 10;
constexpr std::uint64_t kLifeAt = 3;
// One in so many seeds of those whose private decisions have names has a guesser.
constexpr std::uint64_t kSeedsPerGuess = 10;
constexpr std::uint64_t kGuessAt = 0;

}  // namespace

std::vector<Choice> ChoicesIn(const Scenario& scenario, int side) {
  std::vector<Choice> choices = scenario.choices;
  for (Choice& choice : choices) {
    if (side == 0 || !choice.other_features) continue;
    choice.features = *choice.other_features;
    choice.arms = static_cast<int>(choice.features.size()) / kDimension;
  }
  return choices;
}

Scenario ScenarioOf(std::uint64_t seed) {
  const auto& combinations = Combinations();
  WorldRandom random(seed * 0x2545f4914f6cdd1d + 17);
  Scenario scenario{.seed = seed, .combination = &combinations[seed % combinations.size()]};
  const Combination& combination = *scenario.combination;
  scenario.window =
      absl::Milliseconds(std::llround(std::exp(random.Between(std::log(400), std::log(60'000)))));
  // Between just enough, where reports expire on the way, and long.
  scenario.token_lifetime = std::max(absl::Seconds(1), scenario.window * 1.2) + absl::Seconds(75) +
                            (random.Chance(0.4) ? absl::ZeroDuration() : absl::Hours(1));
  scenario.posterior_interval = absl::Seconds(random.Between(2, 20));
  scenario.queue_reports_max = random.Chance(0.3) ? 1 + random.Below(4) : 100;
  scenario.drops_when_full = random.Chance(0.5);
  scenario.deliveries_in_flight_max = 1 + random.Below(3);
  scenario.reports_per_delivery_max = 1 + random.Below(6);
  scenario.trouble = random.Chance(0.3) ? 0 : random.Between(0.05, 0.5);
  const int choices = 6 + random.Below(13);
  for (int i = 0; i < choices; ++i) scenario.choices.push_back(DrawChoice(random, combination));
  scenario.target = random.Below((choices + 1) / 2);
  scenario.difference = Differ(random, combination, scenario.choices[scenario.target]);
  scenario.steps = DrawSteps(random, scenario.window, choices);
  const std::uint64_t round = seed / combinations.size();
  const bool burst = combination.window && round % kSeedsPerBurst == kBurstAt;
  if (!burst) AddRate(seed, scenario);
  if (burst) {
    MakeBurst(random, scenario);
  } else if (HasProcessLife(combination) && round % kSeedsPerLife == kLifeAt) {
    AddProcessLife(seed, scenario);
  } else if (round % kSeedsPerAlias == kAliasAt) {
    AddAliasMoves(seed, scenario);
  } else if (round % kSeedsPerAlias == kDeletionAt) {
    AddDeletion(seed, scenario);
  }
  const bool guessed = HasGuesser(combination) && round % kSeedsPerGuess == kGuessAt;
  // Half of the seeds, where there is something to hide.
  if (scenario.life == ProcessLife::kUntouched && combination.round_is_private &&
      (guessed || WorldRandom(seed * 0x9e3779b97f4a7c15 + 41).Chance(0.5))) {
    DifferInRound(seed, scenario);
  }
  if (guessed) AddGuesser(scenario);
  for (std::size_t i = 0; i < scenario.choices.size(); ++i) {
    scenario.choices[i].number = static_cast<int>(i);
  }
  return scenario;
}

}  // namespace bandana::audit
