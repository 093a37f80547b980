#include "common/decisions/check_decision.h"

#include <limits>

#include "common/decisions/decision_fault.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

LoggedDecision Sound() {
  LoggedDecision decision;
  decision.id = "d";
  LoggedSlot slot;
  slot.offered = 3;
  slot.ids = {1, 2, 3};
  slot.p = {0.5, 0.25, 0.25};
  slot.chosen = 1;
  slot.chosen_p = 0.25;
  slot.state = RewardState::kKnown;
  slot.reward = 1;
  decision.slots = {slot};
  return decision;
}

std::string ProblemOf(const LoggedDecision& decision) {
  const auto problem = CheckDecision(decision);
  return problem ? problem->message : "";
}

TEST(CheckDecision, TakesASoundOne) { EXPECT_FALSE(CheckDecision(Sound())); }

TEST(CheckDecision, RefusesImpossiblePropensities) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [law, message] :
       std::initializer_list<std::pair<std::vector<double>, const char*>>{
           {{0.5, 0, 0.5}, "p: must be in (0, 1] for the chosen arm, got 0"},
           {{0.5, nan, 0.5}, "p: must be in (0, 1] for the chosen arm, got nan"},
           {{nan, 0.5, 0.5}, "p: must be in [0, 1], got nan"},
           {{-0.1, 0.6, 0.5}, "p: must be in [0, 1], got -0.1"},
           {{0.5, 0.3, 0.3}, "p: must add up to 1, got 1.1"},
           {{1, 1, 1}, "p: must add up to 1, got 3"},
           {{0.333, 0.333, 0.333}, "p: must add up to 1, got 0.999"}}) {
    LoggedDecision decision = Sound();
    decision.slots[0].p = law;
    decision.slots[0].chosen_p = law[1];
    EXPECT_EQ(ProblemOf(decision), message);
    EXPECT_EQ(CheckDecision(decision)->reason, skip_reason::kPropensity);
  }
}

TEST(CheckDecision, LetsCutLawsStayBelowOne) {
  LoggedDecision decision = Sound();
  decision.slots[0].offered = 1000;
  decision.slots[0].p = {0.1, 0.1, 0.1};
  EXPECT_EQ(ProblemOf(decision), "");
  decision.slots[0].p = {0.5, 0.5, 0.1};
  EXPECT_EQ(ProblemOf(decision), "p: must add up to at most 1, got 1.1");
}

TEST(CheckDecision, KnowsRangesOfRawAndReleasedRewards) {
  LoggedDecision decision = Sound();
  decision.slots[0].reward = 1.5;
  EXPECT_EQ(ProblemOf(decision), "reward: must be in [0, 1]");
  EXPECT_EQ(CheckDecision(decision)->reason, skip_reason::kReward);
  decision.range.max = 2;
  EXPECT_EQ(ProblemOf(decision), "");
  decision.slots[0].released = ReleaseLaw{1, -0.5, 1.5};
  EXPECT_EQ(ProblemOf(decision), "");
  decision.slots[0].reward = 1.6;
  EXPECT_EQ(ProblemOf(decision), "reward: must be in [-0.5, 1.5], the ends of released");
  decision.slots[0].reward = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ProblemOf(decision), "reward: must be in [-0.5, 1.5], the ends of released");
}

TEST(CheckDecision, KnowsThatABaselineIsShownInAnyCase) {
  LoggedDecision decision = Sound();
  decision.slots[0].baseline = true;
  EXPECT_EQ(ProblemOf(decision),
            "p: must be 1 for a baseline, which is shown in any case, got 0.25");
  decision.slots[0].p = {0, 1, 0};
  decision.slots[0].chosen_p = 1;
  decision.slots[0].own_law = {0.5, 0.4, 0};
  EXPECT_EQ(ProblemOf(decision), "baseline: must add up to 1, got 0.9");
}

TEST(CheckDecision, NamesTheSlotOfAList) {
  LoggedDecision decision = Sound();
  decision.slots.push_back(decision.slots[0]);
  decision.slots[1].reward = 2;
  EXPECT_EQ(ProblemOf(decision), "slot 1: reward: must be in [0, 1]");
}

}  // namespace
}  // namespace bandana::testing
