// `bandana-audit transcript`: its mutants are noticed, and by whom; what it covers; what it
// repeats.
#include "tools/audit/transcript/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "common/base/file.h"
#include "tests/support/status_matchers.h"
#include "tools/audit/alias_moves.h"
#include "tools/audit/transcript/combination.h"
#include "tools/audit/transcript/command.h"
#include "tools/audit/transcript/scenario.h"
#include "tools/audit/transcript/seeded_bits.h"

namespace bandana::audit {
namespace {

using namespace bandana::testing;
using ::testing::IsSupersetOf;

// Ten of every combination: `./dev test` runs as many without a mutant.
std::uint64_t ManySeeds() { return 10 * Combinations().size(); }

class MutantTest : public ::testing::TestWithParam<std::string> {};

TEST_P(MutantTest, IsNoticedWithinItsSeeds) {
  const Mutant* const mutant = FindMutant(GetParam());
  ASSERT_NE(mutant, nullptr);
  // A mutant of the server is seen by its readers, if not in the first seed in which a thief sees
  // it. A mutant of a device is seen by the server that it reports to, or by a thief.
  const bool server = mutant->of_server();
  std::set<Observer> observers;
  std::string text;
  std::uint64_t seed = 0;
  do {
    const auto result = RunTranscripts({.first_seed = seed,
                                        .seeds = mutant->seeds - seed,
                                        .mutant = mutant,
                                        .stop_at_first = true});
    ASSERT_THAT(result, IsOk());
    ASSERT_GT(result->differences, 0u) << "after " << result->seeds << " seeds\n" << text;
    for (const FoundDifference& found : result->first) {
      observers.insert(found.where.observer);
      seed = std::max(seed, found.seed + 1);
    }
    text += ToText(*result);
  } while (server && !observers.contains(Observer::kOthers) && seed < mutant->seeds);
  EXPECT_EQ(server, observers.contains(Observer::kOthers) &&
                        !observers.contains(Observer::kServer) && mutant->on_reaction == nullptr)
      << text;
}

std::vector<std::string> MutantNames() {
  std::vector<std::string> names;
  for (const Mutant& mutant : Mutants()) names.push_back(mutant.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, MutantTest, ::testing::ValuesIn(MutantNames()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(TranscriptTest, EveryFindingOfAReviewHasAMutant) {
  EXPECT_THAT(
      MutantNames(),
      IsSupersetOf({"c1-central-log-grows", "c2-shown-with-reaction", "c3-epoch-of-reaction",
                    "c4-draw-at-reaction", "m1-reactions-leave-first", "clipped-contexts",
                    "line-per-report", "reward-is-a-selection", "grpc-never-hushes",
                    "book-counts-reports", "id-of-features", "leaves-when-due",
                    "reports-share-the-rate", "plain-names-are-taken"}));
}

TEST(TranscriptTest, EveryMutantSaysHowManySeedsFindIt) {
  for (const Mutant& mutant : Mutants()) EXPECT_GT(mutant.seeds, 0u) << mutant.name;
}

TEST(TranscriptTest, EveryMutantHasARowInTheDocumentWithItsSeeds) {
  const auto page = ReadFile(BANDANA_SOURCE_DIR "/docs/design/transcripts.md", 1 << 20);
  ASSERT_THAT(page, IsOk());
  for (const Mutant& mutant : Mutants()) {
    const std::size_t row = page->find("| `" + mutant.name + "` |");
    ASSERT_NE(row, std::string::npos) << mutant.name;
    EXPECT_THAT(page->substr(row, page->find('\n', row) - row),
                HasSubstr("| " + std::to_string(mutant.seeds) + " |"));
  }
}

TEST(TranscriptTest, CallersComeByEveryDoorAndGiveValuesByName) {
  std::map<CallerApi, int> apis;
  int named = 0;
  for (const Combination& combination : Combinations()) {
    ++apis[combination.api];
    named += combination.model.find("features {") != std::string::npos ? 1 : 0;
  }
  EXPECT_THAT(apis, ::testing::SizeIs(4));
  EXPECT_GE(named, 10);
}

TEST(TranscriptTest, CoversEveryModeAndMechanism) {
  std::map<std::pair<Mode, MechanismId>, int> covered;
  for (const Combination& combination : Combinations()) {
    const auto spec = SpecOf(combination, absl::Seconds(10), absl::Hours(1));
    ASSERT_THAT(spec, IsOk());
    const PublicSpec& p = spec->public_spec;
    EXPECT_EQ(combination.window, p.reward_window.has_value()) << combination.name;
    EXPECT_EQ(!combination.window, p.one_per_decision) << combination.name;
    ++covered[{p.mode, p.mechanism}];
  }
  // With a window and without; central modes through the SDK and without; some by each HTTP API of
  // HTTP, and some with a server that follows.
  const std::map<std::pair<Mode, MechanismId>, int> least = {
      {{Mode::kLocalReward, MechanismId::kRewardRandomizer}, 34},
      {{Mode::kLocalReward, MechanismId::kCentredRandomizer}, 9},
      {{Mode::kLocalReward, MechanismId::kCounter}, 11},
      {{Mode::kLocalContext, MechanismId::kPrivUnit}, 10},
      {{Mode::kLocalContext, MechanismId::kJointGaussian}, 2},
      {{Mode::kCentralReward, MechanismId::kRewardRandomizer}, 41},
      {{Mode::kCentralReward, MechanismId::kCounter}, 18},
      {{Mode::kCentralReward, MechanismId::kShapedCounter}, 4},
      {{Mode::kCentralReward, MechanismId::kPooledCounter}, 4},
      {{Mode::kJoint, MechanismId::kCounter}, 25},
      {{Mode::kJoint, MechanismId::kSparseRelease}, 4}};
  EXPECT_EQ(covered, least);
}

TEST(TranscriptTest, AScenarioIsAFunctionOfItsSeed) {
  for (const std::uint64_t seed : {0u, 33u, 480u}) {
    EXPECT_EQ(Describe(ScenarioOf(seed)), Describe(ScenarioOf(seed)));
    EXPECT_NE(Describe(ScenarioOf(seed)), Describe(ScenarioOf(seed + Combinations().size())));
  }
}

bool DiffersInReaction(const Choice& choice) {
  const auto& [one, other] = choice.reactions;
  return one.has_value() != other.has_value() ||
         (one && (one->at != other->at || one->value != other->value));
}

TEST(TranscriptTest, WorldsDifferInOneReactionOrOneRound) {
  std::map<std::string, std::set<std::string>> kinds;  // of difference, by mode
  for (std::uint64_t seed = 0; seed < ManySeeds(); ++seed) {
    const Scenario scenario = ScenarioOf(seed);
    const bool in_round = scenario.differs == Differs::kRound;
    ASSERT_TRUE(scenario.combination->round_is_private || !in_round) << Describe(scenario);
    int reactions = 0;
    int rounds = 0;
    for (const Choice& choice : scenario.choices) {
      reactions += DiffersInReaction(choice) ? 1 : 0;
      rounds += choice.other_features ? 1 : 0;
      // Without a window absence and moment are the application's duty.
      if (scenario.combination->window) continue;
      const auto& [one, other] = choice.reactions;
      ASSERT_TRUE(one && other && one->at == other->at) << Describe(scenario);
    }
    ASSERT_EQ(reactions, in_round ? 0 : 1) << Describe(scenario);
    ASSERT_EQ(rounds, in_round ? 1 : 0) << Describe(scenario);
    const std::string& name = scenario.combination->name;
    kinds[name.substr(0, name.find(' '))].insert(scenario.difference);
  }
  const std::set<std::string> reactions = {"absence", "moment", "value"};
  const std::set<std::string> all = {"absence", "arms", "features", "moment", "value"};
  const std::map<std::string, std::set<std::string>> wanted = {{"CENTRAL_REWARD", reactions},
                                                               {"JOINT", all},
                                                               {"LOCAL_CONTEXT", all},
                                                               {"LOCAL_REWARD", reactions}};
  EXPECT_EQ(kinds, wanted);
}

TEST(TranscriptTest, SomebodyGuessesTheNameOfARoundThatDiffers) {
  int guessers = 0;
  for (std::uint64_t seed = 0; seed < Combinations().size(); ++seed) {
    const Scenario scenario = ScenarioOf(seed);
    const Choice& target = scenario.choices[scenario.target];
    if (!target.plain_name) continue;
    ++guessers;
    EXPECT_EQ(scenario.differs, Differs::kRound) << Describe(scenario);
    auto step = scenario.steps.begin();
    while (step->act != Act::kSelect || step->choice != scenario.target) ++step;
    ++step;
    EXPECT_EQ(step->act, Act::kGuess) << Describe(scenario);
    EXPECT_EQ(step->choice, scenario.target);
  }
  EXPECT_EQ(guessers, 2);  // gRPC and JSON
}

TEST(TranscriptTest, ASecondWorldOffersItsOwnRound) {
  for (std::uint64_t seed = 0; seed < ManySeeds(); ++seed) {
    const Scenario scenario = ScenarioOf(seed);
    if (scenario.differs != Differs::kRound) continue;
    const Choice one = ChoicesIn(scenario, 0)[scenario.target];
    const Choice other = ChoicesIn(scenario, 1)[scenario.target];
    EXPECT_EQ(one.features.size(), 3u * static_cast<std::size_t>(one.arms));
    EXPECT_EQ(other.features.size(), 3u * static_cast<std::size_t>(other.arms));
    EXPECT_LT(one.shown, one.arms);
    EXPECT_LT(other.shown, other.arms);  // the rank that is shown is there in both
    EXPECT_EQ(one.arms == other.arms, scenario.difference == "features");
  }
}

TEST(TranscriptTest, WhatDiffersHappensInMostScenarios) {
  const auto result = RunTranscripts({.seeds = 3 * Combinations().size()});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->differences, 0u) << ToText(*result);
  EXPECT_EQ(result->combinations, Combinations().size());
  EXPECT_EQ(result->scenarios, 2 * result->seeds);
  EXPECT_GT(result->reactions, result->scenarios / 2);
  // A third of the scenarios end before the reaction, and six combinations lose all three so. None
  // may lose all ten that transcript_audit_test runs.
  EXPECT_LE(result->idle.size(), 6u) << ::testing::PrintToString(result->idle);
  EXPECT_GT(result->rounds, result->scenarios / 10);
  for (const std::uint64_t fields : result->by_observer) EXPECT_GT(fields, 1000u);
  const std::string json = ToJson(*result, nullptr);
  EXPECT_THAT(json, HasSubstr("\"differences\": 0"));
  for (const char* key : {"scenarios", "seeds", "fields_compared", "combinations"}) {
    EXPECT_THAT(json, HasSubstr(std::string("\"") + key + "\": "));
  }
}

// The verdict of transcript_audit_test.
TEST(TranscriptTest, WhatNeverHappensInTenSchedulesIsAFault) {
  TranscriptResult result{.seeds = ManySeeds()};
  EXPECT_TRUE(IsSound(result));
  result.idle = {"a"};
  EXPECT_FALSE(IsSound(result));
  EXPECT_THAT(ToText(result), HasSubstr("never happened in a\n"));
  result.seeds = ManySeeds() - 1;
  EXPECT_TRUE(IsSound(result));
  result.differences = 1;
  EXPECT_FALSE(IsSound(result));
}

TEST(TranscriptTest, AliasesAreMovedForEveryCombination) {
  std::set<std::string> asked_by_alias;
  std::set<std::size_t> moves;
  for (std::uint64_t seed = 0; seed < ManySeeds(); ++seed) {
    const Scenario scenario = ScenarioOf(seed);
    if (!scenario.aliased) continue;
    asked_by_alias.insert(scenario.combination->name);
    for (const Step& step : scenario.steps) {
      if (step.act != Act::kAlias) continue;
      moves.insert(
          static_cast<std::size_t>(step.amount * static_cast<double>(AliasMoves().size())));
    }
  }
  std::set<std::string> all;
  for (const Combination& combination : Combinations()) all.insert(combination.name);
  EXPECT_EQ(asked_by_alias, all);
  EXPECT_EQ(moves.size(), AliasMoves().size());
}

TEST(TranscriptTest, EveryFieldOfAliasIsMoved) {
  EXPECT_THAT(CheckAliasMoves(), IsOk());
  EXPECT_THAT(FieldsOfAlias(),
              ::testing::UnorderedElementsAre("name", "shares.model", "shares.weight"));
}

TEST(TranscriptTest, OneRequestMoreOfASizeMovesNoOther) {
  SeededBits one(7);
  SeededBits other(7);
  std::array<std::byte, 12> nonce{};
  ASSERT_THAT(other.Fill(nonce), IsOk());
  EXPECT_EQ(one.NextWord().value_or(0), other.NextWord().value_or(1));
  other.set_failing(true);
  EXPECT_EQ(other.Fill(nonce).code(), absl::StatusCode::kUnavailable);
}

TEST(TranscriptTest, SystemBitsAreTheThreadsOwnWhileItSaysSo) {
  SeededBits mine(3);
  SeededBits same(3);
  {
    const ThreadBits here(&mine);
    EXPECT_EQ(SystemBits().NextWord().value_or(0), same.NextWord().value_or(1));
  }
  EXPECT_NE(SystemBits().NextWord().value_or(0), same.NextWord().value_or(0));
}

TEST(TranscriptTest, AnUnknownMutantIsRefused) {
  EXPECT_EQ(RunTranscriptCommand({.mutant = "none"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace bandana::audit
