#include "common/judging/survey.h"

#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

LoggedDecision At(int second, std::string id = "") {
  LoggedDecision decision;
  decision.id = id.empty() ? "d" + std::to_string(second) : id;
  decision.time = absl::FromUnixSeconds(second);
  decision.instance = "m1";
  LoggedSlot slot;
  slot.offered = 2;
  slot.p = {0.5, 0.5};
  slot.chosen_p = 0.5;
  slot.state = RewardState::kKnown;
  slot.reward = 1;
  decision.slots = {slot};
  return decision;
}

LoggedDecision With(LoggedDecision decision, RewardState state) {
  decision.slots[0].state = state;
  return decision;
}

absl::Status LookAt(Survey& survey, const std::vector<LoggedDecision>& log) {
  for (std::size_t i = 0; i < log.size(); ++i) {
    survey.Look(log[i], "line " + std::to_string(i + 1));
  }
  return survey.EndLook();
}

std::vector<std::string> ReasonsOf(Survey& survey, const std::vector<LoggedDecision>& log) {
  EXPECT_THAT(LookAt(survey, log), IsOk());
  std::vector<std::string> reasons;
  for (const LoggedDecision& decision : log) reasons.emplace_back(survey.Reason(decision));
  return reasons;
}

TEST(Survey, LeavesOutWhatItCannotUse) {
  LoggedDecision single = At(2);
  single.slots[0].offered = 1;
  single.slots[0].p = {1};
  single.slots[0].chosen_p = 1;
  LoggedDecision wrong = At(3);
  wrong.slots[0].p = {0.5, 0.4};
  LoggedDecision beyond = At(4);
  beyond.slots[0].reward = 2;
  Survey survey({});
  const std::vector<LoggedDecision> log = {At(1), single, wrong, beyond, At(5, "d1"), At(6)};
  EXPECT_THAT(ReasonsOf(survey, log),
              ElementsAre("", "single_arm", "propensity", "reward", "duplicate", ""));
  survey.StartAgain();
  EXPECT_EQ(survey.Reason(At(1)), "");
}

TEST(Survey, LeavesOutEarlyReports) {
  Survey survey({.unreported = 0});
  EXPECT_THAT(ReasonsOf(survey, {At(1), With(At(2), RewardState::kUnreported),
                                 With(At(4), RewardState::kPending), At(3), At(5),
                                 With(At(6), RewardState::kUnreported)}),
              ElementsAre("", "", "pending", "", "pending", "pending"));
}

TEST(Survey, NeedsAWordForUnreportedDecisions) {
  Survey survey({});
  EXPECT_THAT(LookAt(survey, {At(1), With(At(2), RewardState::kUnreported),
                              With(At(3), RewardState::kUnreported)}),
              StatusIs(Code::kFailedPrecondition,
                       "line 2: reward: no report came for this decision and 1 more."));
  Survey beyond({.unreported = 7});
  EXPECT_THAT(LookAt(beyond, {At(1)}),
              StatusIs(Code::kFailedPrecondition, "--unreported must be in the range of rewards"));
}

TEST(Survey, RefusesMixtures) {
  LoggedDecision other = At(2);
  other.instance = "m2";
  Survey instances({});
  EXPECT_THAT(LookAt(instances, {At(1), other}),
              StatusIs(Code::kFailedPrecondition, "line 2: instance: is m2"));
  other = At(2);
  other.epoch = 1;
  Survey epochs({});
  EXPECT_THAT(LookAt(epochs, {At(1), other}),
              StatusIs(Code::kFailedPrecondition, "line 2: epoch: is 1"));
  other = At(2);
  other.slots[0].released = ReleaseLaw{1, -0.5, 1.5};
  Survey released({});
  EXPECT_THAT(LookAt(released, {At(1), other}),
              StatusIs(Code::kFailedPrecondition, "line 2: released: the log mixes raw and"));
  other = At(2);
  other.named_rank = 3;
  Survey ranked({});
  EXPECT_THAT(LookAt(ranked, {At(1), other}),
              StatusIs(Code::kFailedPrecondition, "line 2: slot: the report named rank 3"));
}

TEST(Survey, AsksForClippedRewardsByName) {
  LoggedDecision clipped = At(1);
  clipped.slots[0].released = ReleaseLaw{1, -0.5, 1.5, true};
  Survey unasked({});
  EXPECT_THAT(LookAt(unasked, {clipped}),
              StatusIs(Code::kFailedPrecondition, "line 1: released: the rewards are those of "));
  Survey asked({.clipped = true});
  EXPECT_THAT(LookAt(asked, {clipped}), IsOk());
  EXPECT_EQ(asked.reward(), "clipped");
}

TEST(Survey, KnowsScaleAndTimes) {
  LoggedDecision first = At(5), second = At(2);
  first.slots[0].released = ReleaseLaw{2, -0.25, 1.25};
  second.slots[0].released = ReleaseLaw{1, -0.5, 1.5};
  Survey survey({});
  EXPECT_THAT(LookAt(survey, {first, second}), IsOk());
  EXPECT_EQ(survey.scale().low, -0.5);
  EXPECT_EQ(survey.scale().high, 1.5);
  EXPECT_EQ(survey.reward(), "released");
  EXPECT_FALSE(survey.epsilon().has_value());
  EXPECT_EQ(survey.from(), absl::FromUnixSeconds(2));
  EXPECT_EQ(survey.to(), absl::FromUnixSeconds(5));
}

}  // namespace
}  // namespace bandana::testing
