// Decisions whose windows the server closes, in models whose rewards are private: nothing tells
// that a report came before its decision is an event, and nothing that was acknowledged is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/model/entries/records.h"
#include "common/model/state/cell_codec.h"
#include "common/random/bit_source.h"
#include "server/log/log_engine.h"
#include "server/log/sqlite_engine.h"
#include "server/log/sqlite_log.h"
#include "server/models/folder/folder_restore.h"
#include "server/models/folder/recovery.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

namespace fs = std::filesystem;

const char kWindow[] =
    " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25"
    " grace { seconds: 10 } } } ";

struct Case {
  const char* name;
  const char* text;
};
const Case kCases[] = {
    {"CentralCounter",
     "mode: CENTRAL_REWARD shared {} privacy { epsilon: 0.1 delta: 1e-6 mechanism: COUNTER"
     " counter { horizon: 100 steps_max: 200 } }"},
    {"CentralRandomizer",
     "mode: CENTRAL_REWARD independent {} privacy { epsilon: 0.1 mechanism: REWARD_RANDOMIZER }"},
    {"Joint",
     "mode: JOINT shared {} feature_l2_max: 1 privacy { epsilon: 0.1 delta: 1e-6"
     " mechanism: COUNTER counter { horizon: 100 steps_max: 200 } }"},
    {"Sparse", "mode: JOINT sparse {} privacy { epsilon: 2 delta: 1e-6 }"}};

ModelSpec SpecFor(const Case& one, const std::string& more = "") {
  return SpecOf(
      absl::StrCat("name: 'm' dimension: 2 refresh_interval {} ", one.text, kWindow, more));
}

std::shared_ptr<const NoiseKey> TestKey() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{3});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

// A model on its own clock and folder, stepped.
class OneWorld {
 public:
  explicit OneWorld(ModelSpec spec) : spec_(std::move(spec)) { Open(); }

  void Open(const std::string& vfs = "") {
    model.reset();
    server::HostedModelOptions options;
    options.stepped = true;
    options.noise_key = TestKey();
    options.log = server::SqliteEngineOver(vfs);
    auto opened = HostedModel::Open(spec_, folder.path() + "/m", clock, options);
    ASSERT_THAT(opened, IsOk());
    model = *std::move(opened);
  }
  Decision Decide(std::uint64_t number, std::uint32_t shown = 0) {
    Decision decision = DecisionOf(*model, clock, number, {1, 0}, "ann");
    decision.node = model->spec().coupling.independent() ? -1 : 0;
    decision.arms.push_back({.features = {0, 1}});
    decision.shown = shown;
    EXPECT_THAT(model->RecordDecision(decision), IsOk());
    model->Step();
    return decision;
  }
  absl::StatusOr<ReportResult> Report(const Decision& decision, double reward,
                                      std::optional<std::uint32_t> shown = std::nullopt) {
    absl::StatusOr<ReportResult> answer = absl::UnknownError("no answer");
    model->Report(
        {{.decision = decision, .shown = shown.value_or(decision.shown), .reward = reward}},
        [&](auto results) {
          answer = results.ok() ? absl::StatusOr<ReportResult>(results->front()) : results.status();
        });
    model->Step();
    return answer;
  }
  void Pass(absl::Duration time) {
    clock.Advance(time);
    model->Step();
  }
  // All that others are told, but for what is released.
  std::string Observable() const {
    v1::GetStatsResponse stats = model->Stats();
    stats.clear_grams_repaired();  // a function of what is released
    std::string text = absl::StrCat(stats.DebugString(), model->Ledger().DebugString());
    absl::StrAppend(&text, model->posterior()->version(), " ", model->log_queue(), " ",
                    model->Health().ToString(), " ", model->epoch());
    if (const auto budget = model->Budget()) absl::StrAppend(&text, " ", budget->used);
    return text;
  }
  // Sizes in the closed file of the log.
  std::string Sizes() {
    model.reset();
    std::string sizes;
    for (const auto& file : fs::directory_iterator(folder.path() + "/m")) {
      if (file.is_directory()) continue;
      absl::StrAppend(&sizes, file.path().filename().string(), " ", file.file_size(), "\n");
    }
    for (const char* table : {"log", "ids", "cells"}) {
      absl::StrAppend(&sizes, table, " ", Query(absl::StrCat("SELECT COUNT(*) FROM ", table)),
                      "\n");
    }
    absl::StrAppend(&sizes, Query("SELECT SUM(LENGTH(value)) FROM cells"));
    return sizes;
  }
  std::string LogFile() const { return folder.path() + "/m/log.sqlite"; }
  std::string Query(const std::string& sql) const {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(LogFile().c_str(), &db), SQLITE_OK);
    std::string answer;
    EXPECT_EQ(sqlite3_exec(
                  db, sql.c_str(),
                  [](void* out, int, char** values, char**) {
                    static_cast<std::string*>(out)->append(values[0] ? values[0] : "");
                    return 0;
                  },
                  &answer, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
    return answer;
  }
  // Rewards in the entries that close windows.
  std::vector<double> Closed() {
    model.reset();
    auto log = *server::OpenSqliteLog({.path = LogFile()});
    std::vector<LogEntry> entries;
    EXPECT_THAT(log->Read({.sequence = log->trimmed()}, 1000, entries), IsOk());
    std::vector<double> rewards;
    for (const LogEntry& entry : entries) {
      const auto record = Decode(entry.record, 2);
      EXPECT_THAT(record, IsOk());
      const auto* close = std::get_if<CloseRecord>(&*record);
      if (close == nullptr) continue;
      for (const auto& window : close->windows) rewards.push_back(window.reward);
    }
    return rewards;
  }

  const TempDir folder;
  FakeClock clock;
  std::unique_ptr<HostedModel> model;

 private:
  const ModelSpec spec_;
};

class OpenWindowsTest : public ::testing::TestWithParam<Case> {};

// Two worlds that differ in one reaction.
TEST_P(OpenWindowsTest, NothingTellsThatAReportCame) {
  OneWorld silent(SpecFor(GetParam()));
  OneWorld loud(SpecFor(GetParam()));
  const auto both = [&](const auto& act) {
    act(silent);
    act(loud);
    EXPECT_EQ(silent.Observable(), loud.Observable());
  };
  Decision theirs;
  both([](OneWorld& world) { world.Decide(1); });
  both([&](OneWorld& world) {
    world.Pass(absl::Seconds(30));
    theirs = world.Decide(2);
  });
  EXPECT_EQ(CodeOf(loud.Report(theirs, 1)), v1::APPLIED);
  EXPECT_EQ(silent.Observable(), loud.Observable());
  // Nor what is wrong with one.
  EXPECT_EQ(CodeOf(loud.Report(theirs, 1)), v1::APPLIED);
  EXPECT_EQ(ReasonOf(loud.Report(theirs, 1, 1)), v1::SHOWN_OUT_OF_RANGE);
  Decision unknown = theirs;
  unknown.id.fill(std::byte{9});
  EXPECT_EQ(CodeOf(loud.Report(unknown, 1)), v1::EXPIRED);
  loud.model->CountRejected(v1::REJECTED, v1::TOKEN_INVALID, 1);
  loud.model->Step();
  EXPECT_EQ(silent.Observable(), loud.Observable());
  // A call that waits.
  loud.model->Report({{.decision = theirs, .shown = 0, .reward = 1}}, [](auto) {});
  EXPECT_EQ(silent.Observable(), loud.Observable());
  both([](OneWorld& world) { world.Pass(absl::Seconds(40)); });  // mine closes
  both([](OneWorld& world) { world.Pass(absl::Seconds(30)); });  // theirs
  EXPECT_EQ(loud.model->Stats().reports_applied(), 2);           // whatever came
  EXPECT_EQ(loud.model->Ledger().events(), 2);
  EXPECT_EQ(CodeOf(loud.Report(theirs, 1)), v1::EXPIRED);
  EXPECT_EQ(silent.Observable(), loud.Observable());
  EXPECT_EQ(silent.Sizes(), loud.Sizes());
  EXPECT_THAT(silent.Closed(), ElementsAre(0.25, 0.25));
  EXPECT_THAT(loud.Closed(), ElementsAre(0.25, 1));
}

TEST_P(OpenWindowsTest, TheFilesOfOpenWindowsHaveTheSameSizes) {
  OneWorld silent(SpecFor(GetParam()));
  OneWorld loud(SpecFor(GetParam()));
  for (int i = 1; i <= 100; ++i) {
    silent.Decide(i);
    const Decision decision = loud.Decide(i);
    if (i % 3 == 0) {
      EXPECT_EQ(CodeOf(loud.Report(decision, i % 2)), v1::APPLIED);
    }
  }
  for (const char* what : {"open", "checkpoint", "closed"}) {
    SCOPED_TRACE(what);
    for (OneWorld* world : {&silent, &loud}) {
      if (what[1] == 'h') {
        EXPECT_THAT(world->model->Checkpoint(), IsOk());
      }
      if (what[1] == 'l') world->Pass(absl::Seconds(70));
    }
    EXPECT_EQ(silent.Sizes(), loud.Sizes());
    for (OneWorld* world : {&silent, &loud}) world->Open();
  }
}

// The arm that counts is the one that Select named, reported or not.
TEST_P(OpenWindowsTest, TheArmThatCountsIsFixedAtTheDecision) {
  OneWorld silent(SpecFor(GetParam()));
  OneWorld loud(SpecFor(GetParam()));
  silent.Decide(1, 1);
  const Decision decision = loud.Decide(1, 1);
  EXPECT_EQ(ReasonOf(loud.Report(decision, 1, 0)), v1::SHOWN_OUT_OF_RANGE);
  EXPECT_EQ(CodeOf(loud.Report(decision, 1)), v1::APPLIED);
  for (OneWorld* world : {&silent, &loud}) world->Pass(absl::Seconds(70));
  EXPECT_EQ(silent.model->posterior()->version(), loud.model->posterior()->version());
  if (!std::string_view(GetParam().name).starts_with("Central")) return;
  // Features are published as they are there.
  EXPECT_EQ(NodeOf(*silent.model->posterior(), 0).covariance,
            NodeOf(*loud.model->posterior(), 0).covariance);
  EXPECT_LT(NodeOf(*loud.model->posterior(), 0).covariance[3], 1);
}

TEST_P(OpenWindowsTest, AnAcknowledgedReportSurvivesAKill) {
  OneWorld world(SpecFor(GetParam()));
  const Decision decision = world.Decide(1);
  world.Decide(2);
  ASSERT_EQ(CodeOf(world.Report(decision, 1)), v1::APPLIED);
  const TempDir killed;
  fs::copy(world.folder.path() + "/m", killed.path() + "/m", fs::copy_options::recursive);
  world.model.reset();
  fs::remove_all(world.folder.path() + "/m");
  fs::copy(killed.path() + "/m", world.folder.path() + "/m", fs::copy_options::recursive);
  world.Open();
  EXPECT_EQ(CodeOf(world.Report(decision, 0.5)), v1::APPLIED);  // the first stands
  world.Pass(absl::Seconds(70));
  EXPECT_THAT(world.Closed(), ElementsAre(1, 0.25));
}

TEST_P(OpenWindowsTest, AReportThatFailsOnAFullDiskIsNotTaken) {
  FaultVfs& vfs = FaultVfs::Instance();
  vfs.Reset();
  OneWorld world(SpecFor(GetParam()));
  world.Open(FaultVfs::kName);
  const Decision first = world.Decide(1);
  const Decision second = world.Decide(2);
  vfs.disk_full = true;
  EXPECT_THAT(world.Report(first, 1), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(world.Report(second, 1), StatusIs(absl::StatusCode::kUnavailable));
  vfs.Reset();
  EXPECT_EQ(CodeOf(world.Report(second, 0.5)), v1::APPLIED);
  world.Pass(absl::Seconds(70));
  EXPECT_THAT(world.Closed(), ElementsAre(0.25, 0.5));
}

// Windows that cannot close for want of space close later, each with what it holds.
TEST_P(OpenWindowsTest, AClosingThatFailsLeavesEverythingAsItWas) {
  FaultVfs& vfs = FaultVfs::Instance();
  vfs.Reset();
  OneWorld world(SpecFor(GetParam()));
  world.Open(FaultVfs::kName);
  const Decision decision = world.Decide(1);
  world.Decide(2);
  ASSERT_EQ(CodeOf(world.Report(decision, 1)), v1::APPLIED);
  vfs.disk_full = true;
  world.Pass(absl::Seconds(70));
  world.Pass(absl::Seconds(70));
  EXPECT_EQ(world.model->Stats().reports_applied(), 0);
  vfs.Reset();
  world.Pass(absl::Seconds(70));
  EXPECT_EQ(world.model->Stats().reports_applied(), 2);
  EXPECT_THAT(world.Closed(), ElementsAre(1, 0.25));
}

TEST_P(OpenWindowsTest, AnEpochClosesThemAndAnExportHasNone) {
  OneWorld world(SpecFor(GetParam()));
  const Decision decision = world.Decide(1);
  ASSERT_EQ(CodeOf(world.Report(decision, 1)), v1::APPLIED);
  EXPECT_EQ(StatisticsOf(*world.model)[0].events, 0);  // through an export
  EXPECT_THAT(world.model->OpenEpoch(), IsOkAndHolds(2));
  EXPECT_EQ(StatisticsOf(*world.model)[0].events, 1);
  EXPECT_EQ(ReasonOf(world.Report(decision, 1)), v1::TOKEN_FOREIGN);
  EXPECT_THAT(world.Closed(), ElementsAre(1));
}

// The cell of one decision is of no use for another, nor in another model.
TEST_P(OpenWindowsTest, CellsAreSealedAndBoundToTheirDecision) {
  OneWorld world(SpecFor(GetParam()));
  world.Decide(1);
  const Decision decision = world.Decide(2);
  ASSERT_EQ(CodeOf(world.Report(decision, 1)), v1::APPLIED);
  world.model.reset();
  EXPECT_NE(world.Query("SELECT HEX(SUBSTR(value, 18, 1)) FROM cells WHERE slot = 1"), "01");
  Cell cells[2];
  {
    auto log = *server::OpenSqliteLog({.path = world.LogFile()});
    ASSERT_THAT(log->ForEachCell([&](const Cell& cell) { cells[cell.slot] = cell; }), IsOk());
    std::swap(cells[0].content, cells[1].content);
    server::LogBatch batch;
    batch.cells = {cells[0], cells[1]};
    batch.counters = log->counters();
    ASSERT_THAT(log->Append(batch), IsOk());
  }
  server::HostedModelOptions options;
  options.noise_key = TestKey();
  EXPECT_THAT(
      HostedModel::Open(SpecFor(GetParam()), world.folder.path() + "/m", world.clock, options),
      StatusIs(absl::StatusCode::kDataLoss, "cell"));
}

INSTANTIATE_TEST_SUITE_P(Modes, OpenWindowsTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Windows of local models close on the device; the rank is fixed there just as well.
TEST(LocalWindowsTest, ADevicesReportHasTheRankThatSelectNamed) {
  for (const bool counter : {false, true}) {
    SCOPED_TRACE(counter);
    OneWorld world(SpecOf(absl::StrCat(
        "name: 'm' dimension: 2 mode: LOCAL_REWARD shared {} privacy { epsilon: 1 ",
        counter ? "delta: 1e-6 mechanism: COUNTER counter { horizon: 100 steps_max: 200 }" : "",
        " } reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }")));
    Decision decision = world.Decide(1, 1);
    EXPECT_EQ(world.model->Stats().log_sequence(), 0);
    for (const std::uint32_t shown : {0u, 1u}) {
      v1::OutcomeCode code = v1::OUTCOME_CODE_UNSPECIFIED;
      v1::RejectReason reason = v1::REJECT_REASON_UNSPECIFIED;
      const auto note = [&](const auto& results) {
        ASSERT_THAT(results, IsOk());
        code = results->front().code;
        reason = results->front().reason;
      };
      if (counter) {
        world.model->ReportCounters({{.stream = {std::byte{1}},
                                      .step = 1,
                                      .moment = {0, 0},
                                      .decisions = {decision},
                                      .shown = {shown}}},
                                    note);
      } else {
        world.model->Report({{.decision = decision, .shown = shown, .output = 0}}, note);
      }
      world.model->Step();
      EXPECT_EQ(code, shown == 1 ? v1::APPLIED : v1::REJECTED);
      EXPECT_EQ(reason, shown == 1 ? v1::REJECT_REASON_UNSPECIFIED : v1::SHOWN_OUT_OF_RANGE);
    }
  }
}

// A report's content goes along in a model without privacy; in a central one nothing does.
TEST(RestoredWindowsTest, AreEventsWhereTheyWereReported) {
  for (const bool central : {false, true}) {
    SCOPED_TRACE(central);
    const ModelSpec spec = central ? SpecFor(kCases[0]) : WindowSpec();
    const TempDir data_dir;
    const std::string folder = data_dir.path() + "/models/m";
    fs::create_directories(data_dir.path() + "/models");
    FakeClock clock;
    server::HostedModelOptions options;
    options.stepped = true;
    if (central) options.noise_key = TestKey();
    auto model = *HostedModel::Open(spec, folder, clock, options);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      const Decision decision = DecisionOf(*model, clock, i, {1, 0});
      ASSERT_THAT(model->RecordDecision(decision), IsOk());
      if (i == 2) {
        model->Report({{.decision = decision, .reward = 0.75}}, [](auto) {});
      }
      model->Step();
    }
    model.reset();
    ASSERT_THAT(server::RestoreModelFolder(
                    spec, {.data_dir = data_dir.path(), .noise_key = options.noise_key}),
                IsOk());
    model = *HostedModel::Open(spec, folder, clock, options);
    clock.Advance(absl::Minutes(2));
    model->Step();
    EXPECT_EQ(StatisticsOf(*model)[0].events, central ? 0 : 1);
    if (!central) {
      EXPECT_THAT(StatisticsOf(*model)[0].moment, ElementsAre(0.75, 0));
    }
  }
}

TEST(FormerWindowsTest, EntriesThatKeepReportsInTheLogAreRefusedWithWhatToDo) {
  const TempDir folder;
  FakeClock clock;
  { ASSERT_THAT(HostedModel::Open(WindowSpec(), folder.path(), clock), IsOk()); }
  const std::vector<double> x = {1, 0};
  DecisionRecord decision{.close = clock.Now() + absl::Hours(1)};
  decision.event = {.epoch = 1, .time = clock.Now(), .node = 0, .features = x};
  std::string former = Encode(decision);
  former[1] = 1;
  {
    auto log = *server::OpenLog(*server::DefaultLogEngine(), folder.path());
    server::LogBatch batch;
    batch.Add(former);
    ASSERT_THAT(log->Append(batch), IsOk());
  }
  EXPECT_THAT(HostedModel::Open(WindowSpec(), folder.path(), clock),
              StatusIs(absl::StatusCode::kFailedPrecondition, "stop it cleanly"));
}

TEST(CellCodecTest, WhatIsSealedOpensForItsDecisionAlone) {
  CellKey key{};
  key.fill(std::byte{1});
  const EntryId id = {std::byte{7}};
  for (const bool sealed : {false, true}) {
    SCOPED_TRACE(sealed);
    const CellCodec codec({}, sealed ? std::optional(key) : std::nullopt, SystemBits());
    const WindowValue value{.reported = true, .reward = -0.75};
    const CellContent content = *codec.Encode(id, value);
    EXPECT_THAT(codec.Decode(id, content), IsOkAndHolds(value));
    EXPECT_EQ(content == *codec.Encode(id, value), !sealed);
    for (std::size_t i = 0; i < content.size(); ++i) {
      CellContent bad = content;
      bad[i] ^= std::byte{0x10};
      const auto opened = codec.Decode(id, bad);
      // A plain one is protected by its row's checksum; its reward may be any.
      const bool of_reward = !sealed && i >= 2 && i <= 9;
      EXPECT_TRUE(!opened.ok() || of_reward) << i;
    }
    if (!sealed) continue;
    EXPECT_FALSE(codec.Decode({std::byte{8}}, content).ok());
    EXPECT_FALSE(CellCodec({std::byte{1}}, key, SystemBits()).Decode(id, content).ok());
    EXPECT_FALSE(CellCodec({}, CellKey{}, SystemBits()).Decode(id, content).ok());
    EXPECT_FALSE(CellCodec({}, std::nullopt, SystemBits()).Decode(id, content).ok());
  }
}

// No key seals more often than AES-GCM allows: each sealing draws one of 2^24.
TEST(CellCodecTest, KeysAreDerivedOnceAllServersReadSuchCells) {
  CellKey key{};
  key.fill(std::byte{1});
  const EntryId id = {std::byte{7}};
  const WindowValue value{.reported = true, .reward = -0.75};
  const auto read = std::make_shared<std::atomic<int>>(CellCodec::kDerivedRead - 1);
  const CellCodec codec({}, key, SystemBits(), read);
  const CellContent former = *codec.Encode(id, value);
  EXPECT_EQ(former[0], std::byte{2});
  read->store(CellCodec::kDerivedRead);
  std::set<std::array<std::byte, 3>> choices;
  for (int i = 0; i < 100; ++i) {
    const CellContent content = *codec.Encode(id, value);
    EXPECT_EQ(content[0], std::byte{3});
    choices.insert({content[1], content[2], content[3]});
    EXPECT_THAT(codec.Decode(id, content), IsOkAndHolds(value));
  }
  EXPECT_GT(choices.size(), 95u);  // 100 of 2^24: two are equal with probability 3e-4
  EXPECT_THAT(codec.Decode(id, former), IsOkAndHolds(value));
  EXPECT_THAT(CellCodec({}, key, SystemBits()).Decode(id, former), IsOkAndHolds(value));
}

}  // namespace
}  // namespace bandana::testing
