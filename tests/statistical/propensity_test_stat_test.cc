// The test of a log's propensities: right logs pass, wrong ones are found. Short: 40 and 20 logs
// each; with BANDANA_JUDGING_SEEDS=2000 the whole table of docs/design/judging_measured.md.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "common/judging/judge.h"
#include "common/judging/propensity_test.h"
#include "common/judging/simple_policies.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/judging_world.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

constexpr int kDecisions = 5000;
using Verdict = PropensityTest::Verdict;
// Makes a log wrong: the decision that was logged, and the one before.
using Mutate = std::function<void(LoggedDecision&, const LoggedDecision&)>;

int Seeds() {
  const char* seeds = std::getenv("BANDANA_JUDGING_SEEDS");
  return seeds == nullptr ? 40 : std::atoi(seeds);
}

Verdict VerdictOf(WorldLaw law, std::uint64_t seed, bool alone, const Mutate& mutate) {
  JudgingWorld world({.law = law, .seed = seed});
  JudgeOptions options;
  options.used = kDecisions;
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(MakeUniformPolicy());
  Judge judge(options, std::move(policies), {{0}});
  LoggedDecision decision, before;
  for (int t = 0; t < kDecisions; ++t) {
    world.Next(decision);
    LoggedDecision logged = decision;
    if (mutate) mutate(logged, before);
    before = decision;
    LoggedSlot& slot = logged.slots[0];
    if (!slot.p.empty()) slot.chosen_p = slot.p[slot.chosen];
    if (!(slot.chosen_p > 0)) continue;
    if (alone) slot.p.clear();
    judge.Add(logged);
  }
  return judge.propensities().verdict();
}

void NextArm(LoggedDecision& decision, const LoggedDecision&) {
  std::vector<double>& p = decision.slots[0].p;
  std::rotate(p.begin(), p.begin() + 1, p.end());
}
void LineBefore(LoggedDecision& decision, const LoggedDecision& before) {
  if (!before.slots.empty()) decision.slots[0].p = before.slots[0].p;
}
// The log claims the share `claimed` where 0.1 was drawn.
Mutate Share(double claimed) {
  return [claimed](LoggedDecision& decision, const LoggedDecision&) {
    for (double& p : decision.slots[0].p) {
      const double own = (p - 0.1 / JudgingWorld::kArms) / 0.9;
      p = claimed / JudgingWorld::kArms + (1 - claimed) * std::max(0.0, own);
    }
  };
}
void AllOne(LoggedDecision& decision, const LoggedDecision&) {
  decision.slots[0].p.clear();
  decision.slots[0].chosen_p = 1;
}

TEST(PropensityTestStat, PassesRightLogs) {
  std::uint64_t wrong = 0, tested = 0, logs = 0;
  for (const WorldLaw law : kWorldLaws) {
    for (int seed = 1; seed <= Seeds(); ++seed) {
      for (const bool alone : {false, true}) {
        const Verdict verdict = VerdictOf(law, static_cast<std::uint64_t>(seed), alone, nullptr);
        wrong += verdict == Verdict::kWrong;
        tested += verdict == Verdict::kRight;
        ++logs;
      }
    }
  }
  std::printf("right logs flagged: %llu of %llu, %llu tested\n",
              static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(logs),
              static_cast<unsigned long long>(tested));
  EXPECT_GT(BinomialUpperTail(wrong, logs, PropensityTest::kError),
            AlphaOf("judging_propensities"));
  EXPECT_GT(tested, logs / 2);
}

struct Wrong {
  const char* name;
  WorldLaw law;
  bool alone;
  Mutate mutate;
  int percent = 99;  // that are found at least
};

TEST(PropensityTestStat, FindsWrongOnes) {
  const int logs = Seeds() >= 2000 ? 300 : 20;
  const Wrong cases[] = {
      {"p of the next arm", WorldLaw::kUniformMix, false, NextArm},
      {"p of the next arm", WorldLaw::kThompson, false, NextArm},
      {"p of the next arm", WorldLaw::kInverseGap, false, NextArm},
      {"p of the line before", WorldLaw::kUniformMix, false, LineBefore},
      {"p of the line before", WorldLaw::kInverseGap, false, LineBefore},
      {"share 0.05 for 0.1", WorldLaw::kUniformMix, false, Share(0.05)},
      {"share 0.2 for 0.1", WorldLaw::kUniformMix, false, Share(0.2)},
      // Laws of Thompson sampling are flat while little is known: of 100 such logs, the likelihood
      // ratio of the law that drew them finds 91 at this error.
      {"share 0.05 for 0.1", WorldLaw::kThompson, false, Share(0.05), 50},
      {"share 0.2 for 0.1", WorldLaw::kThompson, false, Share(0.2)},
      {"all 1", WorldLaw::kUniformMix, true, AllOne},
      {"all 1", WorldLaw::kUniform, true, AllOne},
      {"alone: p of the next arm", WorldLaw::kUniformMix, true, NextArm},
      {"alone: share 0.05 for 0.1", WorldLaw::kUniformMix, true, Share(0.05)},
      {"alone: share 0.2 for 0.1", WorldLaw::kUniformMix, true, Share(0.2)},
  };
  for (const Wrong& c : cases) {
    int found = 0;
    for (int seed = 1; seed <= logs; ++seed) {
      found +=
          VerdictOf(c.law, static_cast<std::uint64_t>(seed), c.alone, c.mutate) == Verdict::kWrong;
    }
    std::printf("%s (%s): found in %d of %d\n", c.name, NameOf(c.law), found, logs);
    EXPECT_GE(found, logs * c.percent / 100) << c.name;
  }
}

}  // namespace
}  // namespace bandana::testing
