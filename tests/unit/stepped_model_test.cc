// A hosted model without threads: nothing happens but in Step and in calls that wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "server/log/sqlite_engine.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/hosted_model_fixture.h"

namespace bandana::testing {
namespace {

int Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

class SteppedModelTest : public HostedModelTest {
 protected:
  SteppedModelTest() { options_.stepped = true; }

  // One report of the decision; counts the answers.
  void Ask(HostedModel& model, const Decision& decision, double reward) {
    model.Report({{.decision = decision, .reward = reward}}, [this](auto results) {
      ++answers_;
      answer_ = results.ok() ? absl::StatusOr<ReportResult>(results->front()) : results.status();
    });
  }

  int answers_ = 0;
  absl::StatusOr<ReportResult> answer_;
};

TEST_F(SteppedModelTest, HasNoThreads) {
  const int before = Threads();
  const auto model = Open(SharedSpec());
  EXPECT_EQ(Threads(), before);
  Ask(*model, DecisionOf(*model, clock_, 1, {1, 0}), 0.5);
  model->Step();
  EXPECT_THAT(model->Checkpoint(), IsOk());
  EXPECT_EQ(Threads(), before);
}

TEST_F(SteppedModelTest, AnswersAndAppliesInStepAlone) {
  const auto model = Open(SharedSpec());
  Ask(*model, DecisionOf(*model, clock_, 1, {1, 0}), 0.5);
  EXPECT_EQ(answers_, 0);
  EXPECT_EQ(model->log_queue(), 1);
  EXPECT_EQ(model->Stats().log_sequence(), 0u);
  model->Step();
  EXPECT_EQ(answers_, 1);
  EXPECT_EQ(CodeOf(answer_), v1::APPLIED);
  EXPECT_EQ(model->Stats().applied_sequence(), 1u);
  EXPECT_EQ(model->posterior()->version(), 1u);
}

TEST_F(SteppedModelTest, ClosesWindowsByTheClock) {
  const auto model = Open(WindowSpec());
  ASSERT_THAT(model->RecordDecision(DecisionOf(*model, clock_, 1, {1, 0})), IsOk());
  model->Step();
  const std::uint64_t opened = model->Stats().log_sequence();
  clock_.Advance(absl::Seconds(59));
  model->Step();
  EXPECT_EQ(model->Stats().log_sequence(), opened);
  clock_.Advance(absl::Seconds(1));
  model->Step();
  EXPECT_GT(model->Stats().log_sequence(), opened);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 1u);
}

TEST_F(SteppedModelTest, CallsThatWaitDoTheWork) {
  const auto model = Open(SharedSpec("refresh_interval { seconds: 60 }"));
  Ask(*model, DecisionOf(*model, clock_, 1, {1, 0}), 0.5);
  EXPECT_EQ(model->OpenEpoch().value_or(0), 2u);
  EXPECT_EQ(answers_, 1);
  Ask(*model, DecisionOf(*model, clock_, 2, {1, 0}), 0.5);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 2u);
  const auto checkpoint = model->Checkpoint();
  ASSERT_THAT(checkpoint, IsOk());
  EXPECT_EQ(checkpoint->log_sequence(), 3u);
}

TEST_F(SteppedModelTest, WritesCheckpointsInline) {
  const auto model = Open(SharedSpec("checkpoint { events: 4 }"));
  for (std::uint64_t i = 1; i <= 4; ++i) {
    Ask(*model, DecisionOf(*model, clock_, i, {1, 0}), 0.5);
  }
  model->Step();
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/checkpoint-00000000000000000004"));
}

TEST_F(SteppedModelTest, CompletesWhatWaitsWhenItEnds) {
  auto model = Open(SharedSpec());
  Ask(*model, DecisionOf(*model, clock_, 1, {1, 0}), 0.5);
  model.reset();
  EXPECT_EQ(CodeOf(answer_), v1::APPLIED);
  model = Open(SharedSpec());
  EXPECT_EQ(StatisticsOf(*model)[0].events, 1u);
}

TEST_F(SteppedModelTest, StoresCountersWithoutWaiting) {
  auto model = Open(SharedSpec());
  model->CountRejected(v1::REJECTED, v1::TOKEN_INVALID, 3);
  model->Step();
  const auto copy = std::filesystem::copy_options::recursive;
  TempDir crashed;
  std::filesystem::copy(folder_.path(), crashed.path() + "/m", copy);
  const auto again =
      server::HostedModel::Open(SharedSpec(), crashed.path() + "/m", clock_, options_);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ((*again)->Stats().reports_rejected().at("token_invalid"), 3u);
}

TEST_F(SteppedModelTest, TriesAFullDiskOnceAStep) {
  FaultVfs& vfs = FaultVfs::Instance();
  options_.log = server::SqliteEngineOver(FaultVfs::kName);
  const auto model = Open(WindowSpec());
  vfs.disk_full = true;
  ASSERT_THAT(model->RecordDecision(DecisionOf(*model, clock_, 1, {1, 0})), IsOk());
  model->Step();  // ends although the record waits
  EXPECT_EQ(model->log_queue(), 1);
  EXPECT_EQ(model->Health().code(), absl::StatusCode::kResourceExhausted);
  vfs.Reset();
  model->Step();
  EXPECT_EQ(model->log_queue(), 0);
  EXPECT_THAT(model->Health(), IsOk());
}

}  // namespace
}  // namespace bandana::testing
