// The server dies in the middle of a fleet's run and comes back at the same address with the same
// data: the run goes on, and every acknowledged report is present exactly once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/child_process.h"
#include "tests/support/fleet_run.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

class FleetKill : public ::testing::TestWithParam<const char*> {};

TEST_P(FleetKill, EveryAcknowledgedReportIsAppliedExactlyOnce) {
  constexpr int kRounds = 3000;
  const std::string model = GetParam();
  FleetWorld world({"--environment=synthetic"});
  world.StartServer();
  std::vector<std::string> command =
      world.Flags(model, kRounds, {"--in_flight=8", "--reconnect_timeout=60s"});
  command.insert(command.begin(), ProgramPath("bandana-fleet"));
  ChildProcess fleet(command);
  for (const std::uint64_t applied : {300u, 900u, 1500u}) {
    while (world.ReportsApplied(model).value_or(0) < applied) absl::SleepFor(absl::Milliseconds(2));
    world.server().Kill();
    ASSERT_TRUE(fleet.Running()) << "the run was over before the kill at " << applied << " reports";
    world.StartServer();
  }
  EXPECT_EQ(fleet.Wait(), 0) << fleet.out() << fleet.err();
  const FleetWorld::Json json = world.ReadJson();
  EXPECT_EQ(json.numbers.at("decisions"), kRounds);
  EXPECT_EQ(json.numbers.at("reports_acknowledged"), kRounds);
  EXPECT_THAT(world.ReportsApplied(model), IsOkAndHolds(static_cast<std::uint64_t>(kRounds)));
}

INSTANTIATE_TEST_SUITE_P(CentralAndLocal, FleetKill, ::testing::Values("colin", "ldp-colin"),
                         [](const auto& info) {
                           return std::string(info.param == std::string("colin") ? "Central"
                                                                                 : "Local");
                         });

}  // namespace
}  // namespace bandana::testing
