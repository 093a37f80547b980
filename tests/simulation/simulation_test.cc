// Worlds of one seed each: servers whose disks fail, devices that crash, a network that loses,
// doubles and re-orders, clocks that jump. `simulation_test --seed=N [--spec=K]` replays one;
// BANDANA_SIMULATION_SEEDS sets how many are run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/simulation/world.h"
#include "tests/support/crash_vfs.h"
#include "tests/support/model_harness.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr int kSteps = 400;

std::uint64_t seed_given = 0;  // 0: all
int spec_given = -1;

const std::vector<ModelSpec>& Specs() {
  static const auto* const specs = [] {
    const char kGraph[] =
        "colin { graph { users: 3 rows: [0, 1, 2, 0, 1] columns: [0, 1, 2, 1, 2]"
        " weights: [1, 1, 1, 0.5, 0.5] } }";
    const char kOnce[] = " reporting { one_per_decision: true } ";
    const char kWindow[] =
        " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } } ";
    const auto counter = [](const std::string& kind) {
      return " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 100"
             " steps_max: 200 kind: " +
             kind + " } } ";
    };
    const std::string start = "name: 'm' dimension: 2 ";
    return new std::vector<ModelSpec>{
        SpecOf(start + "mode: NON_PRIVATE independent {}"),
        SpecOf(start + "mode: NON_PRIVATE shared {}" + kWindow),
        SpecOf(start + "mode: LOCAL_REWARD privacy { epsilon: 1 } " + kGraph + kOnce),
        SpecOf(start + "mode: LOCAL_REWARD independent {}" + kOnce + counter("BLT")),
        SpecOf(start + "mode: LOCAL_REWARD " + kGraph + kOnce + counter("EPOCHS")),
        SpecOf(start + "mode: CENTRAL_REWARD shared {}" + kWindow + counter("BLT")),
        SpecOf(start + "mode: CENTRAL_REWARD independent {}" + kOnce + counter("EPOCHS")),
        SpecOf(start +
               "mode: CENTRAL_REWARD shared {} privacy { epsilon: 2"
               " mechanism: REWARD_RANDOMIZER }" +
               kOnce),
        SpecOf(start +
               "mode: CENTRAL_REWARD independent {} privacy { epsilon: 2"
               " mechanism: REWARD_RANDOMIZER }" +
               kWindow),
        SpecOf(start + "mode: JOINT shared {} feature_l2_max: 1" + kWindow + counter("BLT"))};
  }();
  return *specs;
}

std::uint64_t SeedCount() {
  const char* given = std::getenv("BANDANA_SIMULATION_SEEDS");
  return given == nullptr ? 400 : std::strtoull(given, nullptr, 10);
}

TEST(SimulationTest, NoInvariantBreaksUnderAnySeed) {
  CrashVfs::Instance();
  const TempDir folder;
  WorldFigures all;
  const std::uint64_t first = seed_given == 0 ? 1 : seed_given;
  const std::uint64_t last = seed_given == 0 ? SeedCount() : seed_given;
  int violations = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const std::size_t spec =
        spec_given >= 0 ? static_cast<std::size_t>(spec_given) : seed % Specs().size();
    World world(Specs()[spec], folder.path(), seed);
    const std::string violation = world.Run(kSteps);
    if (!violation.empty()) {
      ++violations;
      ADD_FAILURE() << violation << "; again: simulation_test --seed=" << seed
                    << " --spec=" << spec;
      if (violations == 10) break;
    }
    const WorldFigures& figures = world.figures();
    all.entries += figures.entries;
    all.acknowledged += figures.acknowledged;
    all.crashes += figures.crashes;
    all.device_crashes += figures.device_crashes;
    all.lost_messages += figures.lost_messages;
    all.faults += figures.faults;
  }
  std::printf(
      "simulated: %llu seeds, %llu log entries, %llu reports acknowledged, %llu server "
      "crashes, %llu device crashes, %llu messages lost, %llu disk faults; violations: %d\n",
      static_cast<unsigned long long>(last - first + 1),
      static_cast<unsigned long long>(all.entries),
      static_cast<unsigned long long>(all.acknowledged),
      static_cast<unsigned long long>(all.crashes),
      static_cast<unsigned long long>(all.device_crashes),
      static_cast<unsigned long long>(all.lost_messages),
      static_cast<unsigned long long>(all.faults), violations);
  if (seed_given != 0) return;
  // A world in which nothing happens proves nothing.
  EXPECT_GT(all.acknowledged, 10 * (last - first + 1));
  EXPECT_GT(all.crashes, 2 * (last - first + 1));
}

struct Planted {
  const char* name;
  World::Mutant mutant;
  std::size_t spec;
};

class SimulationPowerTest : public ::testing::TestWithParam<Planted> {};

TEST_P(SimulationPowerTest, APlantedDefectIsNoticed) {
  CrashVfs::Instance();
  const TempDir folder;
  int noticed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    World world(Specs()[GetParam().spec], folder.path(), seed);
    world.Plant(GetParam().mutant);
    if (!world.Run(kSteps).empty()) ++noticed;
  }
  // Over hundreds of seeds this leaves no doubt.
  EXPECT_GE(noticed, 6);
  std::printf("%s: noticed by %d of 60 seeds\n", GetParam().name, noticed);
}

INSTANTIATE_TEST_SUITE_P(
    Defects, SimulationPowerTest,
    ::testing::Values(Planted{"AnswersEarly", World::Mutant::kAnswersEarly, 0},
                      Planted{"ForgetsIds", World::Mutant::kForgetsIds, 0},
                      Planted{"ForgetsStreams", World::Mutant::kForgetsStreams, 3},
                      Planted{"RedrawsSteps", World::Mutant::kRedrawsSteps, 3},
                      Planted{"ReusesDebits", World::Mutant::kReusesDebits, 3},
                      Planted{"LosesCells", World::Mutant::kLosesCells, 1},
                      Planted{"LosesCentralCells", World::Mutant::kLosesCells, 5}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace bandana::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seed=", 7) == 0) {
      bandana::testing::seed_given = std::strtoull(argv[i] + 7, nullptr, 10);
    } else if (std::strncmp(argv[i], "--spec=", 7) == 0) {
      bandana::testing::spec_given = std::atoi(argv[i] + 7);
    }
  }
  return RUN_ALL_TESTS();
}
