// Decisions that are said to wait: those whose window is open, reported or not, and those without a
// report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hosted_model_fixture.h"

namespace bandana::testing {
namespace {

class WaitingDecisionsTest : public HostedModelTest {
 protected:
  WaitingDecisionsTest() { options_.stepped = true; }
  // A decision as Select makes it.
  Decision Decide(HostedModel& model) {
    Decision decision = DecisionOf(model, clock_, ++number_, {0.6, 0.8});
    model.NumberDecision(decision.id);
    EXPECT_THAT(model.RecordDecision(decision), IsOk());
    model.Step();
    return decision;
  }
  v1::OutcomeCode Report(HostedModel& model, ReportedOutcome outcome) {
    v1::OutcomeCode code = v1::OUTCOME_CODE_UNSPECIFIED;
    model.Report({std::move(outcome)}, [&](const auto& results) {
      if (results.ok()) code = results->front().code;
    });
    model.Step();
    return code;
  }
  static std::uint64_t Waiting(const HostedModel& model) {
    return model.Stats().decisions_waiting();
  }

  std::uint64_t number_ = 0;
};

TEST_F(WaitingDecisionsTest, LocalOnesWaitForTheirReportOrTheEndOfTheirToken) {
  const auto model = Open(
      SpecOf("name: 'm' dimension: 2 mode: LOCAL_REWARD shared {} token_lifetime { seconds: 600 }"
             " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }"
             " reporting { one_per_decision: true }"));
  const Decision first = Decide(*model);
  Decide(*model);
  EXPECT_EQ(Waiting(*model), 2);
  EXPECT_EQ(Report(*model, {.decision = first, .output = 0}), v1::APPLIED);
  EXPECT_EQ(Waiting(*model), 1);
  EXPECT_EQ(Report(*model, {.decision = first, .output = 0}), v1::DUPLICATE);
  EXPECT_EQ(Waiting(*model), 1);
  clock_.Advance(absl::Minutes(11));
  EXPECT_EQ(Waiting(*model), 0);
}

TEST_F(WaitingDecisionsTest, OnesWithAWindowWaitForItsEndWhateverIsReported) {
  const auto model = Open(WindowSpec());
  const Decision first = Decide(*model);
  Decide(*model);
  EXPECT_EQ(Waiting(*model), 2);
  EXPECT_EQ(Report(*model, {.decision = first, .reward = 1}), v1::APPLIED);
  EXPECT_EQ(Waiting(*model), 2);
  clock_.Advance(absl::Minutes(2));
  model->Step();
  EXPECT_EQ(Waiting(*model), 0);
}

TEST_F(WaitingDecisionsTest, ARestartKnowsTheOpenWindows) {
  auto model = Open(WindowSpec());
  Decide(*model);
  model.reset();
  model = Open(WindowSpec());
  EXPECT_EQ(Waiting(*model), 1);
}

TEST_F(WaitingDecisionsTest, NothingWaitsWhereReportsAreLearntAsTheyCome) {
  const auto model = Open(SharedSpec());
  Decide(*model);
  EXPECT_EQ(Waiting(*model), 0);
}

}  // namespace
}  // namespace bandana::testing
