// Schedules of `bandana-audit transcript` in which the reaction decides about the process.
#include "tools/audit/transcript/process_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/audit/transcript/combination.h"
#include "tools/audit/transcript/full_disk.h"
#include "tools/audit/transcript/recorder.h"
#include "tools/audit/transcript/transcript.h"
#include "tools/audit/transcript/world.h"

namespace bandana::audit {
namespace {

using testing::IsOk;

// The first of each combination that has one.
std::vector<Scenario> LifeScenarios() {
  std::vector<Scenario> scenarios;
  const std::uint64_t combinations = Combinations().size();
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 10 * combinations; ++seed) {
    Scenario scenario = ScenarioOf(seed);
    if (scenario.life == ProcessLife::kUntouched) continue;
    if (seen.insert(seed % combinations).second) scenarios.push_back(std::move(scenario));
  }
  return scenarios;
}

TEST(ProcessLifeTest, EveryLifeIsMetByManyCombinations) {
  std::set<ProcessLife> lives;
  const auto scenarios = LifeScenarios();
  for (const Scenario& scenario : scenarios) lives.insert(scenario.life);
  EXPECT_GE(scenarios.size(), 20);
  EXPECT_EQ(lives.size(), 3);
}

// Nothing in them is fetched or sent by the clock.
TEST(ProcessLifeTest, DevicesThatRankFetchAndReportAtStarts) {
  ASSERT_THAT(FullDisk::Install(), IsOk());
  const testing::TempDir folder;
  std::set<std::string> seen;  // calls
  for (const Scenario& scenario : LifeScenarios()) {
    if (!scenario.combination->on_device) continue;
    const auto spec = SpecOf(*scenario.combination, scenario.window, scenario.token_lifetime);
    ASSERT_THAT(spec, IsOk());
    const auto world = RunWorld(
        {.scenario = &scenario, .spec = &*spec, .side = 0, .folder = folder.File("world")});
    ASSERT_THAT(world, IsOk());
    std::set<int> starts = {0};  // and the step before the first
    for (std::size_t i = 0; i < scenario.steps.size(); ++i) {
      if (scenario.steps[i].act == Act::kForeground) starts.insert(static_cast<int>(i));
    }
    for (const Field& field : (*world)->fields()) {
      if (field.observer != Observer::kServer) continue;
      EXPECT_TRUE(starts.contains(field.step)) << field.name << "\n" << Describe(scenario);
      seen.insert(field.name);
    }
  }
  EXPECT_THAT(seen, ::testing::IsSupersetOf({"BatchSelectRequest", "GetArmEffectsRequest",
                                             "GetPosteriorRequest", "SubmitRequest"}));
}

// Reports do arrive: a world in which nothing is sent would differ from none.
TEST(ProcessLifeTest, ReportsArriveAtStarts) {
  ASSERT_THAT(FullDisk::Install(), IsOk());
  const testing::TempDir folder;
  const auto scenarios = LifeScenarios();
  for (std::size_t i = 0; i < std::min<std::size_t>(scenarios.size(), 6); ++i) {
    const Scenario& scenario = scenarios[i];
    const auto spec = SpecOf(*scenario.combination, scenario.window, scenario.token_lifetime);
    ASSERT_THAT(spec, IsOk());
    for (const int side : {0, 1}) {
      const auto seen = RunWorld(
          {.scenario = &scenario, .spec = &*spec, .side = side, .folder = folder.File("world")});
      ASSERT_THAT(seen, IsOk());
      const auto& fields = (*seen)->fields();
      EXPECT_TRUE(std::any_of(fields.begin(), fields.end(), [](const Field& field) {
        return field.observer == Observer::kServer && field.name == "SubmitRequest";
      })) << Describe(scenario);
    }
  }
}

}  // namespace
}  // namespace bandana::audit
