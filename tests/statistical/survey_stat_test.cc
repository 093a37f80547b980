// Logs that are cut while reports still come: the decisions that count are judged without bias, and
// those that happen to be known are not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "common/judging/judge.h"
#include "common/judging/row.h"
#include "common/judging/simple_policies.h"
#include "common/judging/survey.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/judging_world.h"

namespace bandana::testing {
namespace {

constexpr int kDecisions = 2000;
constexpr int kLifetime = 300;  // seconds; a decision per second
constexpr int kWorlds = 200;

struct Log {
  std::vector<LoggedDecision> decisions;
  std::vector<double> values;  // of the logging policy, true
};

// Clicks are reported within the lifetime, mostly soon; no click is no report. The log ends with
// its last decision.
Log MakeLog(std::uint64_t seed) {
  JudgingWorld world({.law = WorldLaw::kInverseGap, .seed = seed});
  TestRng rng(seed);
  Log log;
  log.decisions.resize(kDecisions);
  for (int number = 0; number < kDecisions; ++number) {
    LoggedDecision& decision = log.decisions[static_cast<std::size_t>(number)];
    world.Next(decision);
    LoggedSlot& slot = decision.slots[0];
    log.values.push_back(world.Value(slot.p));
    const double u = rng.Uniform();
    const double delay = kLifetime * u * u;
    const double age = kDecisions - number;
    if (slot.reward > 0.5 && delay < age) continue;
    slot.state = age < kLifetime ? RewardState::kPending : RewardState::kUnreported;
    slot.reward = 0;
  }
  return log;
}

// The estimate of the logging policy less its value on the decisions that were used, in standard
// deviations over the worlds.
double ZOf(bool early_reports) {
  double sum = 0, squares = 0;
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    const Log log = MakeLog(seed);
    Survey survey({.unreported = 0});
    for (const LoggedDecision& decision : log.decisions) survey.Look(decision, decision.id);
    if (!survey.EndLook().ok()) return 1e9;
    std::vector<std::unique_ptr<JudgedPolicy>> policies;
    policies.push_back(MakeLoggingPolicy());
    JudgeOptions options;
    options.used = kDecisions;
    Judge judge(options, std::move(policies), {{0}});
    double truth = 0, count = 0;
    for (std::size_t i = 0; i < log.decisions.size(); ++i) {
      const bool open = log.decisions[i].slots[0].state == RewardState::kPending;
      if (early_reports ? open : !survey.Reason(log.decisions[i]).empty()) continue;
      judge.Add(log.decisions[i]);
      truth += log.values[i];
      ++count;
    }
    const JudgementRow row =
        MakeRow(judge, 0, {Estimator::kIps, IntervalKind::kLargeSample, 0.95, 0.05});
    const double error = *row.value - truth / count;
    sum += error;
    squares += error * error;
  }
  return sum / std::sqrt(squares);
}

TEST(SurveyStat, CutLogsAreJudgedWithoutBias) {
  // z that a standard normal exceeds with probability 1e-6 on either side; the mutant's power is
  // above 0.99, as its z is 2.33 more.
  static_assert(AlphaOf("judging_early_reports") >= 1e-6);
  constexpr double kLimit = 4.892;
  const double right = ZOf(false), mutant = ZOf(true);
  std::printf("cut at the first open decision: z %.2f; early reports counted: z %.2f\n", right,
              mutant);
  EXPECT_LT(std::abs(right), kLimit);
  EXPECT_GT(mutant, kLimit + 2.33);
}

}  // namespace
}  // namespace bandana::testing
