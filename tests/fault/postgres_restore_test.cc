// `bandana-ctl checkpoint restore` where the log and the state are in PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "server/log/postgresql/pg_engine.h"
#include "server/models/folder/folder_restore.h"
#include "tests/support/child_process.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::HasSubstr;

constexpr char kConfig[] =
    "name: 'm' dimension: 2 mode: NON_PRIVATE independent {} refresh_interval {}"
    " reporting { one_per_decision: true }";

class PostgresRestoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    database_ = std::make_unique<PostgresServer>();
    std::filesystem::create_directories(data_.File("models"));
  }
  std::shared_ptr<const server::LogEngine> EngineOf(const std::string& holder) const {
    return MakePgEngine({.connection = database_->connection(),
                         .holder = holder,
                         .lease = absl::Seconds(2),
                         .patience = absl::Seconds(5)});
  }
  std::unique_ptr<HostedModel> Open() {
    server::HostedModelOptions options;
    options.log = EngineOf("server");
    auto model = HostedModel::Open(spec_, data_.File("models/m"), clock_, options);
    EXPECT_THAT(model, IsOk());
    return *std::move(model);
  }
  void Learn(HostedModel& model, int first, int count) {
    for (int i = first; i < first + count; ++i) {
      const auto decision = DecisionOf(model, clock_, i, {0.6, 0.8}, i % 2 == 0 ? "ann" : "bob");
      ASSERT_EQ(CodeOf(ReportOne(model, decision, 0.5)), v1::APPLIED);
    }
    ASSERT_TRUE(Eventually(
        [&] { return model.Stats().applied_sequence() == model.Stats().log_sequence(); }));
  }
  server::RestoreOptions Restoring(const std::string& holder) const {
    return {.data_dir = data_.path(), .log = EngineOf(holder)};
  }

  const TempDir data_;
  const ModelSpec spec_ = SpecOf(kConfig);
  FakeClock clock_;
  std::unique_ptr<PostgresServer> database_;
};

TEST_F(PostgresRestoreTest, NothingOfASoundModelIsLost) {
  std::array<std::byte, 16> instance{};
  std::vector<double> mean;
  {
    const auto model = Open();
    Learn(*model, 1, 20);
    ASSERT_THAT(model->Checkpoint(), IsOk());
    Learn(*model, 21, 10);
    v1::PutArmsResponse response;
    ASSERT_THAT(
        model->PutArms(std::vector<server::CatalogueArm>{{1, {0.5, 0.25}, {"t"}}}, &response),
        IsOk());
    instance = model->instance();
    mean = NodeOf(*model->posterior(), 0).mean;
  }
  const auto restored = RestoreModelFolder(spec_, Restoring("server"));
  ASSERT_THAT(restored, IsOk());
  EXPECT_GT(restored->checkpoint, 0u);
  EXPECT_EQ(restored->log_end, restored->through);
  EXPECT_THAT(restored->notes, ::testing::IsEmpty());
  const auto again = Open();
  EXPECT_NE(again->instance(), instance);
  EXPECT_EQ(again->catalogue()->size(), 1);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(NodeOf(*again->posterior(), 0).mean[i], mean[i], 1e-12);
  }
  Learn(*again, 31, 2);
  // The name is the new one's; what was set aside has none.
  EXPECT_EQ(database_->Count("bandana.states"), 2);
  EXPECT_EQ(database_->Count("bandana.states WHERE name = 'm'"), 1);
}

// A log that cannot be read for the moment is not one that is lost.
TEST_F(PostgresRestoreTest, ALogThatIsAwayOrAnotherServersIsWaitedFor) {
  std::uint64_t events = 0;
  {
    const auto model = Open();
    Learn(*model, 1, 20);
    ASSERT_THAT(model->Checkpoint(), IsOk());
    Learn(*model, 21, 10);
    EXPECT_THAT(RestoreModelFolder(spec_, Restoring("somebody else")),
                StatusIs(absl::StatusCode::kUnavailable, "the log belongs to server"));
    Learn(*model, 31, 2);  // it has it still
    events = 16;
  }
  database_->Kill();
  EXPECT_THAT(RestoreModelFolder(spec_, Restoring("server")),
              StatusIs(absl::StatusCode::kUnavailable, ""));
  database_->Start();
  const auto again = Open();
  EXPECT_EQ(StatisticsOf(*again)[0].events, events);
}

TEST_F(PostgresRestoreTest, WhatIsDamagedIsLeftBehind) {
  {
    const auto model = Open();
    Learn(*model, 1, 20);
    ASSERT_THAT(model->Checkpoint(), IsOk());
    Learn(*model, 21, 10);
  }
  database_->Sql(
      "UPDATE bandana.batches SET records = set_byte(records, 40, get_byte(records, 40) # 16)"
      " WHERE first_sequence = 26");
  const auto restored = RestoreModelFolder(spec_, Restoring("server"));
  ASSERT_THAT(restored, IsOk());
  EXPECT_EQ(restored->through, 25u);
  EXPECT_EQ(restored->log_end, 30u);
  EXPECT_FALSE(restored->notes.empty());
  const auto again = Open();
  EXPECT_EQ(StatisticsOf(*again)[0].events + StatisticsOf(*again)[1].events, 25u);
}

// From SQLite to PostgreSQL and on, as programs.
TEST_F(PostgresRestoreTest, AModelMovesInAsPrograms) {
  const TempDir folder;
  const std::string models = absl::StrCat("models { ", kConfig, " }\n");
  {
    const auto server = ServerProcess::Start({.config = models, .folder = folder.path()});
    ASSERT_THAT(server, IsOk());
    EXPECT_EQ((*server)->Terminate(), 0);
  }
  const std::string config =
      absl::StrCat("log { postgresql { connection: '", database_->connection(), "' } }\n", models);
  const auto refused = ServerProcess::Start({.config = config, .folder = folder.path()});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("log"));
  for (int run = 0; run < 2; ++run) {
    const ProcessResult restored = RunProgram(
        "bandana-ctl", {"checkpoint", "restore", "--config=" + folder.File("server.textproto"),
                        "--data_dir=" + folder.File("data"), "--model=m"});
    ASSERT_EQ(restored.exit_code, 0) << restored.err;
    EXPECT_THAT(restored.out, HasSubstr("restored m"));
    const auto server = ServerProcess::Start({.config = config, .folder = folder.path()});
    ASSERT_THAT(server, IsOk());
    EXPECT_EQ((*server)->Terminate(), 0);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.File("data/models/m/log.sqlite")));
  EXPECT_EQ(database_->Count("bandana.states WHERE name = 'm'"), 1);
}

}  // namespace
}  // namespace bandana::server
