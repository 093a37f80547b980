// bandana-fleet against the real server: what it learns, what it counts, how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "absl/time/clock.h"
#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tests/support/fleet_run.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

std::vector<std::string> Command(std::vector<std::string> flags) {
  flags.insert(flags.begin(), ProgramPath("bandana-fleet"));
  return flags;
}

TEST(Fleet, LearnsPrivatelyAndCountsEveryReport) {
  FleetWorld world({"--environment=synthetic"});
  world.StartServer();
  const ProcessResult run =
      RunProgram("bandana-fleet", world.Flags("ldp-colin", 2000, {"--in_flight=8"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, ::testing::IsEmpty());  // not a terminal: no progress
  const FleetWorld::Json json = world.ReadJson();
  EXPECT_EQ(json.numbers.at("decisions"), 2000);
  EXPECT_EQ(json.numbers.at("errors"), 0);
  EXPECT_EQ(json.numbers.at("reports_acknowledged"), 2000);
  EXPECT_EQ(json.numbers.at("epsilon_spent"), 2);
  EXPECT_EQ(json.numbers.at("delta_spent"), 0);
  EXPECT_EQ(json.curve_points, 200);
  // About a fifth is usual at this length (seeds 1, 2, 4, 5: 0.16 to 0.19).
  EXPECT_LT(json.numbers.at("regret"), 0.5 * json.numbers.at("random_regret"));
  EXPECT_THAT(world.ReportsApplied("ldp-colin"), IsOkAndHolds(2000u));
}

TEST(Fleet, NonPrivateModelsLearnFaster) {
  FleetWorld world({"--environment=synthetic", "--users=4", "--set=dimension=5"});
  world.StartServer();
  for (const char* model : {"colin", "goblin", "linucb"}) {
    const ProcessResult run = RunProgram("bandana-fleet", world.Flags(model, 400));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const FleetWorld::Json json = world.ReadJson();
    EXPECT_LT(json.numbers.at("regret"), 0.25 * json.numbers.at("random_regret")) << model;
    EXPECT_EQ(json.numbers.at("epsilon_spent"), 0);
  }
}

// Continuous actions over the wire, through a crash of the server.
TEST(Fleet, PointsApproachTheBest) {
  FleetWorld world({"--environment=points"});
  world.StartServer();
  for (const char* model : {"bco", "ldp-bco"}) {
    const std::vector<std::string> in_flight = {"--in_flight=8"};
    ProcessResult run = RunProgram("bandana-fleet", world.Flags(model, 1000, in_flight));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    world.server().Kill();
    world.StartServer();
    EXPECT_THAT(world.ReportsApplied(model), IsOkAndHolds(1000u));
    run = RunProgram("bandana-fleet", world.Flags(model, 3000, in_flight));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const FleetWorld::Json json = world.ReadJson();
    EXPECT_EQ(json.numbers.at("errors"), 0);
    EXPECT_THAT(world.ReportsApplied(model), IsOkAndHolds(4000u));
    EXPECT_EQ(json.numbers.at("epsilon_spent"), model == std::string("bco") ? 0 : 2);
    EXPECT_LT(json.numbers.at("regret"), 0.9 * json.numbers.at("random_regret")) << model;
  }
}

TEST(Fleet, OpenLoopReportsItsLateness) {
  FleetWorld world({"--environment=mab"});
  world.StartServer();
  const ProcessResult run =
      RunProgram("bandana-fleet", world.Flags("linucb-shared", 200, {"--rate=400"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const FleetWorld::Json json = world.ReadJson();
  EXPECT_EQ(json.numbers.at("decisions"), 200);
  EXPECT_EQ(json.numbers.at("rate_per_second"), 400);
  EXPECT_TRUE(json.numbers.contains("late_sends"));
}

TEST(Fleet, OtherEnvironmentsRunOnTheirOwnConfigurations) {
  for (const std::vector<std::string>& environment :
       {std::vector<std::string>{"--environment=sphere", "--users=2"},
        std::vector<std::string>{"--environment=sparse", "--set=dimension=40"},
        std::vector<std::string>{"--environment=banditlib"}}) {
    FleetWorld world(environment);
    world.StartServer();
    const ProcessResult run =
        RunProgram("bandana-fleet", world.Flags("linucb", 300, {"--in_flight=4"}));
    EXPECT_EQ(run.exit_code, 0) << environment[0] << ": " << run.err;
    EXPECT_LT(world.ReadJson().numbers.at("regret"), world.ReadJson().numbers.at("random_regret"))
        << environment[0];
  }
}

// More features than a model with a covariance has. docs/findings.md says what 2000 rounds are
// enough for.
TEST(Fleet, SparseModelsAreServedAtTheirDimension) {
  FleetWorld world({"--environment=sparse", "--set=dimension=1000"});
  world.StartServer();
  const ProcessResult run =
      RunProgram("bandana-fleet", world.Flags("fliphat", 2000, {"--in_flight=2"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const FleetWorld::Json json = world.ReadJson();
  EXPECT_EQ(json.numbers.at("reports_acknowledged"), 2000);
  EXPECT_LT(json.numbers.at("regret"), json.numbers.at("random_regret"));
}

TEST(Fleet, InterruptedRunsWriteTheirResults) {
  FleetWorld world({"--environment=mab"});
  world.StartServer();
  ChildProcess fleet(Command(world.Flags("linucb-shared", 1'000'000'000)));
  while (world.ReportsApplied("linucb-shared").value_or(0) < 20)
    absl::SleepFor(absl::Milliseconds(5));
  fleet.Signal(SIGINT);
  EXPECT_EQ(fleet.Wait(), 1) << fleet.err();
  const FleetWorld::Json json = world.ReadJson();
  EXPECT_EQ(json.texts.at("end"), "interrupted");
  EXPECT_GE(json.numbers.at("decisions"), 20);
  EXPECT_THAT(world.ReportsApplied("linucb-shared"),
              IsOkAndHolds(static_cast<std::uint64_t>(json.numbers.at("reports_acknowledged"))));
}

TEST(Fleet, GivesUpWhenTheServerStaysAway) {
  FleetWorld world({"--environment=mab"});
  world.StartServer();
  ChildProcess fleet(
      Command(world.Flags("linucb-shared", 1'000'000'000, {"--reconnect_timeout=1s"})));
  while (world.ReportsApplied("linucb-shared").value_or(0) < 20)
    absl::SleepFor(absl::Milliseconds(5));
  world.server().Kill();
  EXPECT_EQ(fleet.Wait(), 1) << fleet.err();
  EXPECT_EQ(world.ReadJson().texts.at("end"), "server_away");
}

TEST(Fleet, RefusesAModelOfAnotherShape) {
  FleetWorld world({"--environment=mab"});
  world.StartServer();
  const std::string target = "--target=" + world.server().listen();
  const ProcessResult shape = RunProgram(
      "bandana-fleet", {target, "--model=linucb", "--environment=sphere", "--rounds=10"});
  EXPECT_EQ(shape.exit_code, 2);
  EXPECT_THAT(shape.err, HasSubstr("model linucb has 10 features, environment sphere 5"));
  const ProcessResult unknown =
      RunProgram("bandana-fleet", {target, "--model=none", "--environment=mab", "--rounds=10"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("none"));
}

TEST(Fleet, ExplainsMistakesInItsArguments) {
  const struct {
    std::vector<std::string> flags;
    const char* message;
  } kCases[] = {
      {{"--rounds=1"}, "--environment is required"},
      {{"--environment=mab"}, "--target is required"},
      {{"--environment=mab", "--target=x"}, "--model is required"},
      {{"--environment=mab", "--target=x", "--model=m"}, "--rounds must be in"},
      {{"--environment=mab", "--target=x", "--model=m", "--rounds=1", "--in_flight=2", "--rate=3"},
       "exclude each other"},
      {{"--environment=mab", "--target=x", "--model=m", "--rounds=1", "--rate=nan"}, "--rate"},
      {{"--environment=mab", "--target=x", "--model=m", "--rounds=1", "--reconnect_timeout=0s"},
       "--reconnect_timeout"},
      {{"--environment=synthetic", "--users=3", "--set=users=4"}, "`users` is given twice"},
      {{"--environment=synthetic", "--set", "colour=red"}, "unknown setting `colour`"},
      {{"--environment=sparse", "--set=dimension=4097", "--write_config=/tmp/unused"},
       "at most 4096 features"},
  };
  for (const auto& c : kCases) {
    const ProcessResult run = RunProgram("bandana-fleet", c.flags);
    EXPECT_EQ(run.exit_code, 2) << c.message;
    EXPECT_THAT(run.err, HasSubstr(c.message));
  }
}

TEST(Fleet, HelpAndVersionSucceed) {
  const ProcessResult help = RunProgram("bandana-fleet", {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out,
              AllOf(HasSubstr("--write_config"), HasSubstr("--in_flight"), HasSubstr("--set")));
  const ProcessResult version = RunProgram("bandana-fleet", {"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("bandana-fleet "));
}

TEST(Fleet, WrittenConfigurationsPassTheServersCheck) {
  for (const char* environment : {"synthetic", "banditlib", "sphere", "mab", "points"}) {
    FleetWorld world({std::string("--environment=") + environment});
    const ProcessResult check =
        RunProgram("bandana-server",
                   {"--check_config", "--config=" + world.folder().File("server.textproto")});
    EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  }
}

}  // namespace
}  // namespace bandana::testing
