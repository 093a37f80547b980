// Models whose log is in PostgreSQL, while the network and the database fail: what was acknowledged
// is counted, once, and selections go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "server/log/postgresql/pg_engine.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/publication.h"
#include "server/models/registry.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/server_process.h"
#include "tests/support/shared_database.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::HasSubstr;

int Cycles() {
  const char* given = std::getenv("BANDANA_CYCLES");
  return given == nullptr ? 5 : std::atoi(given);
}

class PostgresModelTest : public HostedModelTest {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    database_ = std::make_unique<PostgresServer>();
    proxy_ = FaultProxy::Start(database_->address());
    const std::string address = proxy_->address();
    const int port = std::stoi(address.substr(address.find(':') + 1));
    ASSERT_THAT(WriteFileDurably(keys_.File("key"), std::string(64, '7'), 0600), IsOk());
    options_.log = MakePgEngine({.connection = database_->connection(port),
                                 .key_file = keys_.File("key"),
                                 .holder = "one",
                                 .lease = absl::Seconds(2),
                                 .patience = absl::Seconds(1)});
  }
  // As a client does it: until there is an answer.
  static v1::OutcomeCode ReportSurely(HostedModel& model, const Decision& decision, double reward) {
    for (int i = 0; i < 2000; ++i) {
      const auto result = ReportOne(model, decision, reward);
      if (result.ok()) return result->code;
      EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kUnavailable));
      absl::SleepFor(absl::Milliseconds(20));
    }
    return v1::OUTCOME_CODE_UNSPECIFIED;
  }

  TempDir keys_;
  std::unique_ptr<PostgresServer> database_;
  std::unique_ptr<FaultProxy> proxy_;
};

TEST_F(PostgresModelTest, CountsWhatItAcknowledgedOnce) {
  constexpr int kThreads = 4;
  const ModelSpec spec = IndependentSpec("reporting { one_per_decision: true }");
  auto model = Open(spec);
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> acknowledged = 0, duplicates = 0, next = 0, selections = 0;
  std::vector<std::thread> callers;
  for (int thread = 0; thread < kThreads; ++thread) {
    callers.emplace_back([&] {
      while (!stop) {
        const std::uint64_t number = ++next;
        const Decision decision = DecisionOf(*model, clock_, number, {0.6, 0.8}, "u");
        const v1::OutcomeCode code = ReportSurely(*model, decision, 1);
        EXPECT_TRUE(code == v1::APPLIED || code == v1::DUPLICATE) << code;
        ++acknowledged;
        duplicates += code == v1::DUPLICATE;
      }
    });
  }
  std::thread selecting([&] {
    for (; !stop; ++selections) {
      EXPECT_TRUE(model->ResolveUser("u").ok());
      EXPECT_NE(model->posterior(), nullptr);
    }
  });
  TestRng rng(7);
  using Mode = FaultProxy::Mode;
  for (int cycle = 0; cycle < Cycles(); ++cycle) {
    const Mode mode = std::vector<Mode>{Mode::kDeaf, Mode::kBlackHole, Mode::kRefuse, Mode::kPass,
                                        Mode::kPass}[static_cast<std::size_t>(cycle) % 5];
    absl::SleepFor(absl::Milliseconds(100 + rng.Index(100)));
    if (mode == Mode::kPass) {
      if (cycle % 2 == 0) {
        database_->Kill();
        database_->Start();
      } else {
        proxy_->Cut();
      }
      continue;
    }
    proxy_->Set(mode);
    absl::SleepFor(absl::Milliseconds(200 + rng.Index(2500)));
    proxy_->Cut();
    proxy_->Set(Mode::kPass);
  }
  absl::SleepFor(absl::Milliseconds(300));
  stop = true;
  for (std::thread& caller : callers) caller.join();
  selecting.join();
  std::printf("cycles %d, acknowledged %d, of them repeats %d, selections %d\n", Cycles(),
              static_cast<int>(acknowledged), static_cast<int>(duplicates),
              static_cast<int>(selections));
  EXPECT_GT(acknowledged, 50u);
  EXPECT_GT(selections, 1000u);
  for (const bool again : {false, true}) {
    SCOPED_TRACE(again);
    if (again) {
      model.reset();
      model = Open(spec);
    }
    WaitApplied(*model);
    EXPECT_THAT(model->Health(), IsOk());
    EXPECT_EQ(StatisticsOf(*model)[0].events, acknowledged);
  }
}

// A model that is opened on the database's log repeats its releases.
TEST_F(PostgresModelTest, ACentralModelReleasesTheSameAgain) {
  SeededBits bits(5);
  options_.noise_key = *server::OpenNoiseKey(keys_.path(), bits);
  const ModelSpec spec = SpecOf(
      "name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
      " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER }"
      " reporting { one_per_decision: true }");
  auto model = Open(spec);
  for (int i = 0; i < 30; ++i) {
    const Decision decision = DecisionOf(*model, clock_, 1 + i, {0.6, 0.8});
    ASSERT_EQ(ReportSurely(*model, decision, i % 2), v1::APPLIED);
    if (i == 12) {
      ASSERT_THAT(model->Checkpoint(), IsOk());
    }
    if (i == 20) proxy_->Cut();
  }
  WaitApplied(*model);
  const std::vector<double> released = NodeOf(*model->posterior(), 0).mean;
  model.reset();
  model = Open(spec);
  const std::vector<double> again = NodeOf(*model->posterior(), 0).mean;
  // Other noise would differ by tenths.
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(again[i], released[i], 1e-12);
  model.reset();
  options_.log = MakePgEngine({.connection = database_->connection(), .holder = "one"});
  EXPECT_THAT(TryOpen(spec),
              StatusIs(absl::StatusCode::kFailedPrecondition, "key_file: is required"));
}

// A second server has the database, the key files and nothing else.
TEST_F(PostgresModelTest, ASecondServerOpensAModelFromTheDatabaseAlone) {
  const ModelSpec spec = IndependentSpec("reporting { one_per_decision: true }");
  std::vector<double> released;
  std::array<std::byte, 16> instance{};
  {
    auto model = Open(spec);
    for (int i = 0; i < 30; ++i) {
      const Decision decision = DecisionOf(*model, clock_, 1 + i, {0.6, 0.8}, "u");
      ASSERT_EQ(ReportSurely(*model, decision, i % 2), v1::APPLIED);
      if (i == 20) {
        ASSERT_THAT(model->Checkpoint(), IsOk());
      }
    }
    const server::CatalogueArm arm{.id = 7, .features = {0.5, 0.25}, .tags = {"new"}, .groups = {}};
    v1::PutArmsResponse put;
    ASSERT_THAT(model->PutArms({&arm, 1}, &put), IsOk());
    WaitApplied(*model);
    released = NodeOf(*model->posterior(), 0).mean;
    instance = model->instance();
  }
  // The first machine is lost.
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    std::filesystem::remove_all(entry.path());
  }
  auto model = Open(spec);
  EXPECT_EQ(model->instance(), instance);
  const std::vector<double> again = NodeOf(*model->posterior(), 0).mean;
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(again[i], released[i], 1e-12);
  ASSERT_NE(model->catalogue()->size(), 0);
  EXPECT_EQ(ReportSurely(*model, DecisionOf(*model, clock_, 3, {0.6, 0.8}, "u"), 1), v1::DUPLICATE);
  EXPECT_EQ(ReportSurely(*model, DecisionOf(*model, clock_, 77, {0.6, 0.8}, "u"), 1), v1::APPLIED);
}

// A database that was put back, or a machine that does not know what was published: an epoch is the
// way out, and everybody is charged again.
TEST_F(PostgresModelTest, ACentralModelOfAnOlderDatabaseNeedsANewEpoch) {
  SeededBits bits(5);
  options_.noise_key = *server::OpenNoiseKey(keys_.path(), bits);
  const ModelSpec spec = SpecOf(kCentral);
  const auto report = [&](HostedModel& model, int first, int count) {
    for (int i = first; i < first + count; ++i) {
      ASSERT_EQ(ReportSurely(model, DecisionOf(model, clock_, i, {0.6, 0.8}), i % 2), v1::APPLIED);
    }
    WaitApplied(model);
  };
  double spent = 0;
  {
    auto model = Open(spec);
    report(*model, 1, 10);
    ASSERT_THAT(model->Checkpoint(), IsOk());
  }
  database_->Dump();
  {
    auto model = Open(spec);
    report(*model, 11, 10);
    ASSERT_EQ(*model->OpenEpoch(), 2u);
    report(*model, 21, 10);
    spent = model->Ledger().user().epsilon_zcdp();
  }
  database_->Restore();
  const auto refused = TryOpen(spec);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition, "model m: the log ends at"));
  EXPECT_THAT(refused.status().message(), HasSubstr("epoch open"));
  EXPECT_TRUE(server::IsNeedsEpoch(refused.status()));
  options_.accept_lost = true;
  {
    auto model = Open(spec);
    EXPECT_EQ(model->epoch(), 2u);
    EXPECT_GE(model->Ledger().user().epsilon_zcdp(), spent);
    report(*model, 31, 5);
  }
  // Once is enough.
  options_.accept_lost = false;
  { report(*Open(spec), 41, 5); }
  // Another machine has the database and no file.
  std::filesystem::remove(folder_.File("published"));
  EXPECT_THAT(TryOpen(spec), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      "model m: this server has no record of what the model has"));
  options_.accept_lost = true;
  EXPECT_EQ(Open(spec)->epoch(), 3u);
}

// Nobody can tell whose the lost events were: the first user of that past pays for them.
TEST_F(PostgresModelTest, APastWithoutUsersChargesTheFirstWhoComes) {
  SeededBits bits(5);
  options_.noise_key = *server::OpenNoiseKey(keys_.path(), bits);
  const ModelSpec spec = SpecOf(absl::StrReplaceAll(kCentral, {{"shared {}", "independent {}"}}));
  const auto report = [&](HostedModel& model, int first, int count, const char* user) {
    for (int i = first; i < first + count; ++i) {
      ASSERT_EQ(ReportSurely(model, DecisionOf(model, clock_, i, {0.6, 0.8}, user), i % 2),
                v1::APPLIED);
    }
    WaitApplied(model);
  };
  { ASSERT_THAT(Open(spec)->Checkpoint(), IsOk()); }
  database_->Dump();
  double spent = 0;
  {
    auto model = Open(spec);
    report(*model, 1, 10, "u");
    spent = model->Ledger().user().epsilon_zcdp();
    ASSERT_GT(spent, 0);
  }
  database_->Restore();
  options_.accept_lost = true;
  auto model = Open(spec);
  EXPECT_EQ(model->epoch(), 2u);
  EXPECT_GE(model->Ledger().user().epsilon_zcdp(), spent);
  const double charged = model->Ledger().user().epsilon_zcdp();
  report(*model, 11, 10, "v");
  EXPECT_GT(model->Ledger().user().epsilon_zcdp(), charged);
}

// Models and aliases that one server made at run time are there on another one.
TEST_F(PostgresModelTest, ModelsMadeAtRunTimeAreOpenedByName) {
  const auto options = [&](const char* data_dir) {
    return server::ModelRegistry::Options{.data_dir = folder_.File(data_dir),
                                          .models_max = 10,
                                          .log = options_.log,
                                          .noise_key_file = keys_.File("key")};
  };
  const ModelSpec spec = SpecOf(kCentral);
  std::array<std::byte, 16> instance{};
  std::vector<double> released;
  {
    auto registry = *server::ModelRegistry::Open(options("one"), clock_);
    const auto model = registry->Create(spec);
    ASSERT_THAT(model, IsOk());
    instance = (*model)->instance();
    ASSERT_EQ(ReportSurely(**model, DecisionOf(**model, clock_, 1, {0.6, 0.8}), 1), v1::APPLIED);
    WaitApplied(**model);
    released = NodeOf(*(*model)->posterior(), 0).mean;
    ASSERT_THAT(registry->PutAlias({.name = "shop", .shares = {{.model = "m", .weight = 1}}}),
                IsOk());
    EXPECT_THAT(registry->OpenEpoch("nobody"), StatusIs(absl::StatusCode::kNotFound));
  }
  {
    auto registry = *server::ModelRegistry::Open(options("two"), clock_);
    // It does not know what a central model has published.
    ASSERT_EQ(registry->Absent().size(), 1u);
    EXPECT_TRUE(server::IsNeedsEpoch(registry->Absent()[0].why));
    EXPECT_EQ(registry->ListAliases().size(), 1u);
    const auto epoch = registry->OpenEpoch("m");
    ASSERT_THAT(epoch, IsOk());
    EXPECT_EQ(*epoch, 2u);
    const auto model = registry->FindOwned("m");
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->instance(), instance);
    const std::vector<double> again = NodeOf(*model->posterior(), 0).mean;
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(again[i], released[i], 1e-12);
    ASSERT_EQ(ReportSurely(*model, DecisionOf(*model, clock_, 2, {0.6, 0.8}), 1), v1::APPLIED);
    WaitApplied(*model);
  }
  {
    // The first machine has seen another history; its name is taken, also after it was away.
    auto registry = *server::ModelRegistry::Open(options("one"), clock_);
    const auto model = registry->FindOwned("m");
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->epoch(), 2u);
    EXPECT_THAT(registry->Create(spec), StatusIs(absl::StatusCode::kAlreadyExists));
    ASSERT_THAT(registry->DeleteAlias("shop"), IsOk());
  }
  {
    auto registry = *server::ModelRegistry::Open(options("two"), clock_);
    EXPECT_TRUE(registry->ListAliases().empty());
    ASSERT_THAT(registry->Delete("m"), IsOk());
  }
  EXPECT_TRUE(options_.log->Models()->empty());
  for (const char* table : {"logs", "states", "state_files", "state_pages", "state_rows"}) {
    EXPECT_EQ(database_->Count(std::string("bandana.") + table), 0) << table;
  }
}

TEST_F(PostgresModelTest, AServerKeepsItsModelsLogsThere) {
  const std::string config = "log { postgresql { connection: \"" + database_->connection() +
                             "\" } } models { name: 'm' dimension: 2 mode: NON_PRIVATE shared {}"
                             " reporting { one_per_decision: true } }";
  const ServerProcess::Options options{.config = config, .folder = folder_.path()};
  for (int start = 0; start < 2; ++start) {
    auto server = ServerProcess::Start(options);
    ASSERT_THAT(server, IsOk());
    (*server)->Kill();
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.File("data/models/m/log.postgresql")));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("data/models/m/log.sqlite")));
  // Another server's folder cannot have the same log while its lease lasts; the database away is
  // said in words.
  database_->Kill();
  const auto away = ServerProcess::Start(options);
  EXPECT_THAT(away.status().message(), HasSubstr("PostgreSQL does not let us in"));
}

TEST_F(PostgresModelTest, TokenKeysAreThereUnderTheKeyFile) {
  const std::string config = "log { postgresql { connection: \"" + database_->connection() +
                             "\" key_file: \"" + keys_.File("key") +
                             "\" } } models { name: 'm' dimension: 2 mode: NON_PRIVATE shared {}"
                             " reporting { one_per_decision: true } }";
  auto server = ServerProcess::Start({.config = config, .folder = folder_.path()});
  ASSERT_THAT(server, IsOk());
  (*server)->Kill();
  EXPECT_EQ(database_->Count("bandana.shared_files WHERE name = 'token_keys' AND sealed = 1"), 1);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("data/token_keys")));
  EXPECT_EQ(database_->Count("bandana.state_files WHERE wrapped = ''"), 0);
}

}  // namespace
}  // namespace bandana::server
