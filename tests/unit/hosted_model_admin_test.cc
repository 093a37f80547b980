// Actions of operators on a hosted model: graph, configuration, checkpoints, catalogue, and what
// the disk does to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "common/base/file.h"
#include "server/log/sqlite_engine.h"
#include "server/models/hosted_model.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using HostedModelAdminTest = HostedModelTest;

// Graph, epoch, configuration.

TEST_F(HostedModelAdminTest, AGraphIsReplacedAndStaysReplaced) {
  auto model = Open(LocalColinSpec());
  const double coupled = NodeOf(*model->posterior(), 0).covariance[0];
  v1::Graph graph;
  graph.set_users(3);
  for (int i = 0; i < 3; ++i) {
    graph.add_rows(i);
    graph.add_columns(i);
    graph.add_weights(1);
  }
  ASSERT_THAT(model->PutGraph(graph), IsOk());
  EXPECT_NE(coupled, 1);
  EXPECT_DOUBLE_EQ(NodeOf(*model->posterior(), 0).covariance[0], 1);  // W = I
  model.reset();
  model = Open(LocalColinSpec());
  EXPECT_DOUBLE_EQ(NodeOf(*model->posterior(), 0).covariance[0], 1);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  model.reset();
  model = Open(LocalColinSpec());
  EXPECT_DOUBLE_EQ(NodeOf(*model->posterior(), 0).covariance[0], 1);

  graph.set_users(2);
  EXPECT_THAT(model->PutGraph(graph), StatusIs(absl::StatusCode::kInvalidArgument));
  graph.set_users(4);
  graph.add_rows(3);
  graph.add_columns(3);
  graph.add_weights(1);
  EXPECT_THAT(model->PutGraph(graph),
              StatusIs(absl::StatusCode::kInvalidArgument, "keeps their number"));
}

TEST_F(HostedModelAdminTest, AConfigurationWithAnotherGraphReplacesIt) {
  auto model = Open(LocalColinSpec());
  const double coupled = NodeOf(*model->posterior(), 0).covariance[0];
  model.reset();
  const std::string other =
      "name: 'm' dimension: 2 mode: LOCAL_REWARD colin { graph { users: 3"
      " rows: [0, 1, 2] columns: [0, 1, 2] weights: [1, 1, 1] } }"
      " privacy { epsilon: 1 events_per_user_max: 3 } reporting { one_per_decision: true }";
  model = Open(SpecOf(other));
  EXPECT_DOUBLE_EQ(NodeOf(*model->posterior(), 0).covariance[0], 1);
  const std::uint64_t sequence = model->Stats().log_sequence();
  model.reset();
  model = Open(SpecOf(other));
  EXPECT_EQ(model->Stats().log_sequence(), sequence);  // adopted once
  model.reset();
  EXPECT_DOUBLE_EQ(NodeOf(*Open(LocalColinSpec())->posterior(), 0).covariance[0], coupled);
}

TEST_F(HostedModelAdminTest, ASharedModelHasNoGraph) {
  EXPECT_THAT(Open(SharedSpec())->PutGraph({}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(HostedModelAdminTest, AContradictingConfigurationIsRefusedByField) {
  Open(SharedSpec()).reset();
  const auto refused = [](const std::string& part) {
    return StatusIs(absl::StatusCode::kInvalidArgument, part);
  };
  EXPECT_THAT(TryOpen(SpecOf("name: 'm' dimension: 3 mode: NON_PRIVATE shared {}")),
              refused("dimension is 2 in the stored state and 3 in the configuration"));
  EXPECT_THAT(TryOpen(IndependentSpec()), refused("coupling is shared"));
  EXPECT_THAT(TryOpen(SharedSpec("reward_max: 2")), refused("reward_max is 1"));
  EXPECT_THAT(TryOpen(WindowSpec()), refused("event is report"));
  EXPECT_THAT(TryOpen(SpecOf("name: 'm' dimension: 2 mode: LOCAL_REWARD shared {}"
                             " privacy { epsilon: 1 } reporting { one_per_decision: true }")),
              refused("mode is NON_PRIVATE"));
}

TEST_F(HostedModelAdminTest, LegalChangesOfTheConfigurationAreAccepted) {
  auto model = Open(SharedSpec());
  ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 1, {1, 0}), 1)), v1::APPLIED);
  model.reset();
  model =
      Open(SharedSpec("exploration { alpha: 2 } checkpoint { events: 10 } prior_stddev: 2"
                      " feature_l2_max: 3 arms_max: 5"));
  EXPECT_EQ(NodeOf(*model->posterior(), 0).alpha, 2);
  EXPECT_DOUBLE_EQ(NodeOf(*model->posterior(), 0).mean[0], 0.8);  // (1/4 + 1)^-1
}

// Checkpoints.

TEST_F(HostedModelAdminTest, CheckpointsTrimTheLogUpToTheOlderOfTwo) {
  auto model = Open(SharedSpec());
  std::uint64_t number = 0;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, number++, {1, 0}), 1)),
                v1::APPLIED);
    }
    const auto checkpoint = model->Checkpoint();
    ASSERT_THAT(checkpoint, IsOk());
    EXPECT_EQ(checkpoint->log_sequence(), number);
    EXPECT_GT(checkpoint->bytes(), 0);
  }
  model.reset();
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = file.path().filename();
    if (name.starts_with("checkpoint-")) files.push_back(name);
  }
  EXPECT_THAT(files, UnorderedElementsAre("checkpoint-00000000000000000030",
                                          "checkpoint-00000000000000000040"));
  model = Open(SharedSpec());
  EXPECT_EQ(StatisticsOf(*model)[0].events, 40);
  EXPECT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 3, {1, 0}), 1)), v1::DUPLICATE);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(HostedModelAdminTest, ACheckpointThatIsThereIsNotWrittenAgain) {
  const auto model = Open(SharedSpec());
  const auto report = [&](std::uint64_t number) {
    return CodeOf(ReportOne(*model, DecisionOf(*model, clock_, number, {1, 0}), 1));
  };
  const std::string file = folder_.File("checkpoint-00000000000000000001");
  const auto written = [&] {
    struct stat status {};
    return stat(file.c_str(), &status) == 0 ? status.st_ino : 0;
  };
  // Its number stays taken, so that a file that is written anew has another one.
  const auto keep = [&](const std::string& name) {
    std::filesystem::create_hard_link(file, folder_.File(name));
  };
  ASSERT_EQ(report(0), v1::APPLIED);
  const auto first = model->Checkpoint();
  ASSERT_THAT(first, IsOk());
  keep("first");
  const auto number = written();
  const auto again = model->Checkpoint();
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(written(), number);
  EXPECT_EQ(again->log_sequence(), first->log_sequence());
  EXPECT_EQ(again->bytes(), first->bytes());

  // Refusals are counted, and stand in no log.
  ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 9, {1, 0}), 1, /*shown=*/7)),
            v1::REJECTED);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  EXPECT_NE(written(), number);
  keep("second");

  ASSERT_TRUE(std::filesystem::remove(file));
  ASSERT_THAT(model->Checkpoint(), IsOk());
  EXPECT_NE(written(), 0) << "one that was lost is written again";

  ASSERT_EQ(report(1), v1::APPLIED);
  const auto next = model->Checkpoint();
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->log_sequence(), 2);
}

TEST_F(HostedModelAdminTest, CheckpointsFollowTheirPolicy) {
  const auto model = Open(SharedSpec("checkpoint { events: 5 interval { seconds: 60 } }"));
  const auto files = [&] {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = file.path().filename();
      count += name.starts_with("checkpoint-") && !name.ends_with(".tmp");
    }
    return count;
  };
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, i, {1, 0}), 1)), v1::APPLIED);
  }
  WaitApplied(*model);
  EXPECT_EQ(files(), 0);
  ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 4, {1, 0}), 1)), v1::APPLIED);
  EXPECT_TRUE(Eventually([&] { return files() == 1; }));
  ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 5, {1, 0}), 1)), v1::APPLIED);
  WaitApplied(*model);
  EXPECT_EQ(files(), 1);
  clock_.Advance(absl::Seconds(61));
  EXPECT_TRUE(Eventually([&] { return files() == 2; }));
}

// Catalogue.

TEST_F(HostedModelAdminTest, TheCatalogueIsDurableAndClipped) {
  auto model = Open(SharedSpec());
  v1::PutArmsResponse response;
  ASSERT_THAT(
      model->PutArms(std::vector<server::CatalogueArm>{{7, {3, 4}, {"a", "b"}}, {2, {0, 1}, {}}},
                     &response),
      IsOk());
  EXPECT_EQ(response.added(), 2);
  ASSERT_THAT(model->PutArms(std::vector<server::CatalogueArm>{{2, {1, 0}, {"c"}}, {9, {0, 0}, {}}},
                             &response),
              IsOk());
  EXPECT_EQ(response.added(), 1);
  EXPECT_EQ(response.replaced(), 1);
  EXPECT_EQ(response.arms(), 3);
  EXPECT_EQ(model->RemoveArms(std::vector<std::uint32_t>{9, 10})->removed(), 1);
  model.reset();
  model = Open(SharedSpec());
  const auto catalogue = model->catalogue();
  ASSERT_EQ(catalogue->size(), 2);
  EXPECT_EQ(catalogue->At(0, 0).id, 2);
  EXPECT_THAT(catalogue->ArmOf(*catalogue->Find(2)).tags, ElementsAre("c"));
  EXPECT_NEAR(catalogue->Find(7)->features[0], 0.6, 1e-15);
  EXPECT_NEAR(catalogue->Find(7)->features[1], 0.8, 1e-15);
  EXPECT_FALSE(catalogue->Find(9));
  EXPECT_EQ(model->Stats().arms(), 2);
  EXPECT_EQ(model->Stats().features_clipped(), 1);
}

TEST_F(HostedModelAdminTest, BadArmsAreRefusedTogether) {
  const auto model = Open(SharedSpec("arms_max: 2"));
  v1::PutArmsResponse response;
  const auto put = [&](std::vector<server::CatalogueArm> arms) {
    return model->PutArms(arms, &response);
  };
  const auto invalid = [](const std::string& part) {
    return StatusIs(absl::StatusCode::kInvalidArgument, part);
  };
  EXPECT_THAT(put({{1, {1, 0}, {}}, {2, {1}, {}}}), invalid("arm 2 has 1 features"));
  EXPECT_THAT(put({{1, {std::nan(""), 0}, {}}}), invalid("not finite"));
  EXPECT_THAT(put({{1, {1, 0}, {}}, {1, {1, 0}, {}}}), invalid("twice"));
  EXPECT_THAT(put({{1, {1, 0}, {""}}}), invalid("tag"));
  EXPECT_THAT(put({{1, {1, 0}, {"a,b"}}}), invalid("tag"));
  EXPECT_THAT(put({{1, {1, 0}, std::vector<std::string>(17, "t")}}), invalid("17 tags"));
  EXPECT_THAT(put({{1, {1, 0}, {}}, {2, {1, 0}, {}}, {3, {1, 0}, {}}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "arms_max is 2"));
  EXPECT_EQ(model->catalogue()->size(), 0);
}

TEST_F(HostedModelAdminTest, AnArmsFileIsLoadedWhenNewOrChanged) {
  const TempDir other;
  const std::string path = other.File("arms.tsv");
  ASSERT_THAT(WriteFileDurably(path, "id\ttags\tfeatures\n1\t-\t1 0\n2\tx,y\t0 1\n", 0600), IsOk());
  ModelSpec spec = SharedSpec();
  spec.arms_file = path;
  auto model = Open(spec);
  EXPECT_EQ(model->catalogue()->size(), 2);
  ASSERT_THAT(model->RemoveArms(std::vector<std::uint32_t>{2}), IsOk());
  model.reset();
  EXPECT_EQ(Open(spec)->catalogue()->size(), 1);  // the same file is not loaded again
  ASSERT_THAT(WriteFileDurably(path, "2\tx\t0 1\n3\t-\t0 0.5\n", 0600), IsOk());
  EXPECT_EQ(Open(spec)->catalogue()->size(), 3);
  ASSERT_THAT(WriteFileDurably(path, "2\tx\t0\n", 0600), IsOk());
  EXPECT_THAT(TryOpen(spec), StatusIs(absl::StatusCode::kInvalidArgument, "line 1"));
}

// The disk.

TEST_F(HostedModelAdminTest, AFullDiskIsUnavailableAndHealsByItself) {
  FaultVfs& faults = FaultVfs::Instance();
  faults.Reset();
  options_.log = server::SqliteEngineOver(FaultVfs::kName);
  auto model = Open(SharedSpec());
  ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 1, {1, 0}), 1)), v1::APPLIED);
  WaitApplied(*model);
  faults.disk_full = true;
  const Decision decision = DecisionOf(*model, clock_, 2, {1, 0});
  EXPECT_THAT(ReportOne(*model, decision, 1), StatusIs(absl::StatusCode::kUnavailable, "no space"));
  EXPECT_THAT(model->Health(), StatusIs(absl::StatusCode::kResourceExhausted, "no space"));
  EXPECT_DOUBLE_EQ(NodeOf(*model->posterior(), 0).mean[0], 0.5);  // Select goes on
  faults.disk_full = false;
  EXPECT_TRUE(Eventually([&] { return model->Health().ok(); }));
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 1)), v1::APPLIED);
  EXPECT_EQ(model->Stats().reports_applied(), 2);
  model.reset();
  EXPECT_EQ(StatisticsOf(*Open(SharedSpec()))[0].events, 2);
}

TEST_F(HostedModelAdminTest, DecisionsWaitThroughAFullDisk) {
  FaultVfs& faults = FaultVfs::Instance();
  faults.Reset();
  options_.log = server::SqliteEngineOver(FaultVfs::kName);
  const auto model = Open(WindowSpec());
  faults.disk_full = true;
  ASSERT_THAT(model->RecordDecision(DecisionOf(*model, clock_, 1, {1, 0})), IsOk());
  EXPECT_TRUE(Eventually([&] { return !model->Health().ok(); }));
  EXPECT_THAT(model->RecordDecision(DecisionOf(*model, clock_, 2, {1, 0})),
              StatusIs(absl::StatusCode::kUnavailable));
  faults.disk_full = false;
  EXPECT_TRUE(Eventually([&] { return model->Stats().log_sequence() == 1; }));
  EXPECT_THAT(model->Health(), IsOk());
}

TEST_F(HostedModelAdminTest, AFailedSyncEndsAcknowledgementsForGood) {
  FaultVfs& faults = FaultVfs::Instance();
  faults.Reset();
  options_.log = server::SqliteEngineOver(FaultVfs::kName);
  auto model = Open(SharedSpec());
  ASSERT_EQ(CodeOf(ReportOne(*model, DecisionOf(*model, clock_, 1, {1, 0}), 1)), v1::APPLIED);
  faults.fail_sync = true;
  const Decision decision = DecisionOf(*model, clock_, 2, {1, 0});
  EXPECT_THAT(ReportOne(*model, decision, 1), StatusIs(absl::StatusCode::kUnavailable));
  faults.fail_sync = false;
  EXPECT_THAT(ReportOne(*model, decision, 1),
              StatusIs(absl::StatusCode::kUnavailable, "until the server is restarted"));
  EXPECT_THAT(model->Health(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(model->Stats().reports_applied(), 1);
  model.reset();
  model = Open(SharedSpec());
  EXPECT_THAT(model->Health(), IsOk());
  // Unknown before, exactly once now.
  const v1::OutcomeCode code = CodeOf(ReportOne(*model, decision, 1));
  EXPECT_TRUE(code == v1::APPLIED || code == v1::DUPLICATE);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 2);
}

}  // namespace
}  // namespace bandana::testing
