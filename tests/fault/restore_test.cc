// The operator's way out of DATA_LOSS: `bandana-ctl checkpoint verify` names what is damaged,
// `checkpoint restore` makes what is sound a model again, and the server starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "server/models/folder/folder_check.h"
#include "server/models/folder/folder_restore.h"
#include "tests/support/child_process.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

namespace fs = std::filesystem;

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{5});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

const char kOnce[] = " reporting { one_per_decision: true } ";

class RestoreTest : public ::testing::Test {
 protected:
  RestoreTest() {
    options_.noise_key = Key();
    options_.warn = [](const std::string&) {};
  }
  std::string Folder() const { return data_.File("models/m"); }
  absl::StatusOr<std::unique_ptr<HostedModel>> Open(const ModelSpec& spec) {
    return HostedModel::Open(spec, Folder(), clock_, options_);
  }
  // `count` events, with checkpoints after those in `at`.
  void Fill(const ModelSpec& spec, int count, const std::vector<int>& at) {
    fs::create_directories(data_.File("models"));
    auto model = Open(spec);
    ASSERT_THAT(model, IsOk());
    for (int i = 1; i <= count; ++i) {
      const auto decision = DecisionOf(**model, clock_, i, {0.6, 0.8}, i % 2 == 0 ? "ann" : "bob");
      ASSERT_EQ(CodeOf(ReportOne(**model, decision, 0.5)), v1::APPLIED);
      if (std::find(at.begin(), at.end(), i) != at.end()) {
        ASSERT_THAT((*model)->Checkpoint(), IsOk());
      }
    }
    v1::PutArmsResponse response;
    ASSERT_THAT(
        (*model)->PutArms(std::vector<server::CatalogueArm>{{1, {0.5, 0.25}, {"t"}}}, &response),
        IsOk());
  }
  // Changes the reward of the record after `from` bytes into the log's file.
  void DamageLog() {
    std::string bytes = *ReadFile(Folder() + "/log.sqlite", 1 << 30);
    const double reward = 0.5;
    const std::string pattern(reinterpret_cast<const char*>(&reward), sizeof reward);
    const std::size_t at = bytes.rfind(pattern);
    ASSERT_NE(at, std::string::npos);
    bytes[at] = 1;
    ASSERT_THAT(WriteFileDurably(Folder() + "/log.sqlite", bytes, 0600), IsOk());
  }
  void Damage(const std::string& name) {
    std::string bytes = *ReadFile(Folder() + "/" + name, 1 << 30);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 16);
    ASSERT_THAT(WriteFileDurably(Folder() + "/" + name, bytes, 0600), IsOk());
  }
  server::RestoreOptions Restoring() {
    return {.data_dir = data_.path(), .noise_key = options_.noise_key};
  }

  const TempDir data_;
  FakeClock clock_;
  server::HostedModelOptions options_;
};

TEST_F(RestoreTest, ASoundFolderIsWhole) {
  const ModelSpec spec = IndependentSpec(kOnce);
  Fill(spec, 30, {10, 20});
  const auto verdict = CheckModelFolder(Folder(), nullptr);
  EXPECT_TRUE(verdict.whole());
  EXPECT_THAT(verdict.opens, IsOk());
  EXPECT_THAT(verdict.files, SizeIs(5));  // identity, two checkpoints, log, arms
}

TEST_F(RestoreTest, TheLogIsKeptAsFarAsItsChainHolds) {
  const ModelSpec spec = IndependentSpec(kOnce);
  Fill(spec, 30, {10, 20});
  DamageLog();
  EXPECT_THAT(Open(spec), StatusIs(absl::StatusCode::kDataLoss, "model m: log entry"));
  const auto verdict = CheckModelFolder(Folder(), nullptr);
  EXPECT_FALSE(verdict.whole());
  EXPECT_THAT(verdict.opens, StatusIs(absl::StatusCode::kDataLoss, "log.sqlite: log entry"));

  const auto restored = RestoreModelFolder(spec, Restoring());
  ASSERT_THAT(restored, IsOk());
  EXPECT_EQ(restored->checkpoint, 20);
  EXPECT_GE(restored->through, 20);
  EXPECT_LT(restored->through, 30);
  EXPECT_EQ(restored->log_end, 30);
  EXPECT_THAT(restored->notes, Not(IsEmpty()));
  EXPECT_TRUE(fs::exists(restored->set_aside + "/log.sqlite"));

  const auto model = Open(spec);
  ASSERT_THAT(model, IsOk());
  const auto nodes = StatisticsOf(**model);
  EXPECT_EQ(nodes[0].events + nodes[1].events, restored->through);
  EXPECT_EQ((*model)->catalogue()->size(), 1);
  // It goes on.
  const auto decision = DecisionOf(**model, clock_, 100, {1, 0}, "cid");
  EXPECT_EQ(CodeOf(ReportOne(**model, decision, 0.5)), v1::APPLIED);
  EXPECT_TRUE(CheckModelFolder(restored->set_aside, nullptr).opens.ok() == false);
}

TEST_F(RestoreTest, AnOlderPointMayBeAskedFor) {
  const ModelSpec spec = IndependentSpec(kOnce);
  Fill(spec, 30, {10, 20});
  server::RestoreOptions restoring = Restoring();
  restoring.through = 14;
  const auto restored = RestoreModelFolder(spec, restoring);
  ASSERT_THAT(restored, IsOk());
  EXPECT_EQ(restored->checkpoint, 10);
  EXPECT_EQ(restored->through, 14);
  const auto nodes = StatisticsOf(**Open(spec));
  EXPECT_EQ(nodes[0].events + nodes[1].events, 14);
}

TEST_F(RestoreTest, WithoutAnythingSoundItSaysSo) {
  const ModelSpec spec = IndependentSpec(kOnce);
  Fill(spec, 30, {10, 20, 25});
  Damage("checkpoint-00000000000000000020");
  Damage("checkpoint-00000000000000000025");
  EXPECT_THAT(RestoreModelFolder(spec, Restoring()),
              StatusIs(absl::StatusCode::kDataLoss, "model m: no checkpoint is sound"));
  EXPECT_TRUE(fs::exists(Folder() + "/log.sqlite"));
}

TEST_F(RestoreTest, ADamagedIdentityIsMadeAnew) {
  const ModelSpec spec = IndependentSpec(kOnce);
  Fill(spec, 30, {10, 20});
  Damage("identity");
  ASSERT_THAT(RestoreModelFolder(spec, Restoring()), IsOk());
  const auto nodes = StatisticsOf(**Open(spec));
  EXPECT_EQ(nodes[0].events + nodes[1].events, 30);
}

TEST_F(RestoreTest, AStateOfAnotherConfigurationIsRefused) {
  Fill(IndependentSpec(kOnce), 30, {10});
  EXPECT_THAT(RestoreModelFolder(SharedSpec(kOnce), Restoring()),
              StatusIs(absl::StatusCode::kInvalidArgument, "is of a model with another"));
}

// Entries with debits are lost: nothing that was published comes again with other noise, and the
// ledger says at least what it said.
TEST_F(RestoreTest, ACentralModelGoesOnAsANewInstanceWithItsDebits) {
  const ModelSpec spec =
      SpecOf(std::string("name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
                         " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER }") +
             kOnce);
  Fill(spec, 30, {10});
  std::array<std::byte, 16> instance{};
  double spent = 0;
  {
    const auto model = Open(spec);
    instance = (*model)->instance();
    spent = (*model)->Ledger().user().epsilon_zcdp();
  }
  DamageLog();
  ASSERT_FALSE(Open(spec).ok());
  const auto restored = RestoreModelFolder(spec, Restoring());
  ASSERT_THAT(restored, IsOk());
  EXPECT_LT(restored->through, *restored->log_end);
  const auto model = Open(spec);
  ASSERT_THAT(model, IsOk());
  EXPECT_NE((*model)->instance(), instance);
  EXPECT_EQ((*model)->epoch(), 2);
  EXPECT_GT((*model)->Ledger().user().epsilon_zcdp(), spent);  // charged for what was lost
  const auto decision = DecisionOf(**model, clock_, 100, {1, 0});
  EXPECT_EQ(CodeOf(ReportOne(**model, decision, 0.5)), v1::APPLIED);
}

// As programs: the server does not start, the tool says why and repairs, the server starts.
TEST_F(RestoreTest, AsProgramsFromDamageToServing) {
  const TempDir folder;
  const std::string config =
      "models { name: 'm' dimension: 2 independent {} mode: NON_PRIVATE\n"
      "  reporting { one_per_decision: true } }\n";
  {
    auto server = ServerProcess::Start({.config = config, .folder = folder.path()});
    ASSERT_THAT(server, IsOk());
    const ProcessResult busy =
        RunProgram("bandana-ctl", {"checkpoint", "verify", "--data_dir=" + folder.File("data")});
    EXPECT_EQ(busy.exit_code, 1);
    EXPECT_THAT(busy.err, HasSubstr("in use by another"));
    EXPECT_EQ((*server)->Terminate(), 0);
  }
  const std::vector<std::string> verify = {"checkpoint", "verify",
                                           "--data_dir=" + folder.File("data")};
  const ProcessResult sound = RunProgram("bandana-ctl", verify);
  EXPECT_EQ(sound.exit_code, 0) << sound.out << sound.err;
  EXPECT_THAT(sound.out, HasSubstr("m: opens"));
  // The identity is cut off.
  fs::resize_file(folder.File("data/models/m/identity"), 10);
  const auto refused = ServerProcess::Start({.config = config, .folder = folder.path()});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("identity: checksum mismatch"));
  const ProcessResult damaged = RunProgram("bandana-ctl", verify);
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.out, HasSubstr("m/identity: DAMAGED: identity: checksum mismatch"));
  EXPECT_THAT(damaged.out, HasSubstr("m: does not open"));
  const ProcessResult restored = RunProgram(
      "bandana-ctl", {"checkpoint", "restore", "--config=" + folder.File("server.textproto"),
                      "--data_dir=" + folder.File("data"), "--model=m", "--json=-"});
  // Without an event there is no checkpoint, and without an identity no instance: a drained server
  // has written one.
  EXPECT_EQ(restored.exit_code, 0) << restored.err;
  EXPECT_THAT(restored.out, HasSubstr("\"through\": 0"));
  const auto again = ServerProcess::Start({.config = config, .folder = folder.path()});
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ((*again)->Terminate(), 0);
}

}  // namespace
}  // namespace bandana::server
