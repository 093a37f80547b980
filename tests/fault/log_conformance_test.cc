// Requirements on every engine of logs, tested with each of them; then the failures of PostgreSQL
// and of the network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/file.h"
#include "server/log/log_engine.h"
#include "server/log/log_reader.h"
#include "tests/support/shared_postgres.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

namespace fs = std::filesystem;

struct EngineKind {
  const char* name;
  bool postgresql;
  std::function<std::shared_ptr<const LogEngine>(const TempDir&)> make;
};

class ConformanceTest : public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    if (GetParam().postgresql && !PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    fs::create_directories(folder());
    engine_ = GetParam().make(other_);
    ASSERT_THAT(engine_->Create(folder(), {}), IsOk());
    Open();
  }
  std::string folder() const { return folder_.File("m"); }
  void Open() {
    log_.reset();
    auto opened = OpenLog(*engine_, folder(), {.erase_trimmed = true});
    ASSERT_THAT(opened, IsOk());
    log_ = *std::move(opened);
  }
  void Append(int count, const std::string& counters = "") {
    LogBatch batch{.counters = counters};
    for (int i = 0; i < count; ++i) batch.AddOwned("record " + std::to_string(++appended_));
    ASSERT_THAT(log_->Append(batch), IsOk());
  }
  std::vector<std::string> RecordsAfter(const LogPosition& after, int max = 1 << 20) {
    std::vector<LogEntry> entries;
    EXPECT_THAT(log_->Read(after, max, entries), IsOk());
    std::vector<std::string> records;
    for (const LogEntry& entry : entries) records.push_back(entry.record);
    return records;
  }
  LogPosition PositionOf(std::uint64_t sequence) {
    std::vector<LogEntry> entries;
    EXPECT_THAT(log_->Read({}, static_cast<int>(sequence), entries), IsOk());
    return entries.at(sequence - 1).position;
  }

  TempDir folder_, other_;
  std::shared_ptr<const LogEngine> engine_;
  std::unique_ptr<UpdateLog> log_;
  int appended_ = 0;
};

TEST_P(ConformanceTest, EntriesAreReadInOrderAlsoAfterReopening) {
  EXPECT_EQ(log_->last(), LogPosition{});
  Append(3);
  Append(1);
  Append(0, "counted");  // counters alone are a transaction
  EXPECT_EQ(log_->last().sequence, 4);
  for (const bool again : {false, true}) {
    if (again) Open();
    EXPECT_THAT(RecordsAfter({}), ElementsAre("record 1", "record 2", "record 3", "record 4"));
    EXPECT_THAT(RecordsAfter({}, 2), ElementsAre("record 1", "record 2"));
    EXPECT_THAT(RecordsAfter(PositionOf(2)), ElementsAre("record 3", "record 4"));
    EXPECT_THAT(RecordsAfter(log_->last()), IsEmpty());
    if (again) {
      EXPECT_EQ(log_->counters(), "counted");
    }
  }
  LogPosition wrong = PositionOf(2);
  wrong.hash[0] ^= std::byte{1};
  std::vector<LogEntry> entries;
  EXPECT_THAT(log_->Read(wrong, 10, entries), StatusIs(absl::StatusCode::kDataLoss, "entry 3"));
  // Also where the entries behind it are the newest.
  wrong = log_->last();
  Append(1);
  wrong.hash[0] ^= std::byte{1};
  EXPECT_THAT(log_->Read(wrong, 10, entries), StatusIs(absl::StatusCode::kDataLoss, "entry 5"));
}

TEST_P(ConformanceTest, ManyEntriesInManyTransactions) {
  for (int i = 0; i < 60; ++i) Append(i % 7 + 1);
  const LogPosition last = log_->last();
  Open();
  EXPECT_EQ(log_->last(), last);
  std::vector<std::string> records;
  EXPECT_THAT(ForEachEntry(*log_, {},
                           [&](const LogEntry& entry) {
                             records.push_back(entry.record);
                             return absl::OkStatus();
                           }),
              IsOk());
  ASSERT_THAT(records, SizeIs(appended_));
  for (int i = 0; i < appended_; ++i) EXPECT_EQ(records[i], "record " + std::to_string(i + 1));
}

TEST_P(ConformanceTest, WhatIsTrimmedIsGone) {
  Append(4);
  Append(4);
  const LogPosition middle = PositionOf(6);
  const LogPosition last = log_->last();
  for (bool more = true; more;) {
    const auto trimmed = log_->Trim(6, 512);
    ASSERT_THAT(trimmed, IsOk());
    more = *trimmed;
  }
  for (const bool again : {false, true}) {
    if (again) Open();
    EXPECT_EQ(log_->trimmed(), 6);
    EXPECT_EQ(log_->last(), last);
    EXPECT_THAT(RecordsAfter(middle), ElementsAre("record 7", "record 8"));
    std::vector<LogEntry> left;
    EXPECT_THAT(log_->ReadLeft(6, 10, left), IsOk());
    EXPECT_THAT(left, SizeIs(2));
    std::vector<LogEntry> gone;
    EXPECT_THAT(log_->Read({}, 10, gone), StatusIs(absl::StatusCode::kDataLoss));
  }
  Append(1);
  EXPECT_THAT(RecordsAfter(middle), SizeIs(3));
}

TEST_P(ConformanceTest, ANewLogContinuesAPosition) {
  log_.reset();
  LogPosition start{.sequence = 40};
  start.hash[3] = std::byte{7};
  ASSERT_THAT(engine_->Create(folder(), start), IsOk());
  Open();
  EXPECT_EQ(log_->last(), start);
  EXPECT_EQ(log_->trimmed(), 40);
  Append(2);
  EXPECT_THAT(RecordsAfter(start), SizeIs(2));
}

TEST_P(ConformanceTest, IdsCellsAndChunksAreKeptWithTheirEntries) {
  const auto id = [](int number, std::int64_t bucket) {
    RememberedId made{.bucket = bucket, .kind = 2};
    made.id.fill(static_cast<std::byte>(number));
    return made;
  };
  LogBatch batch{.counters = "c"};
  batch.AddOwned("a", {id(1, 5), id(2, 6)});
  batch.AddOwned("b", {id(3, 7)});
  Cell cell{.slot = 0, .live = true};
  batch.cells = {cell, {.slot = 1}, cell};
  batch.cells[2].content[0] = std::byte{9};
  IdChunk chunk{.issuer = 1, .kind = 1, .number = 2, .newest = 5};
  batch.chunks = {chunk};
  chunk.number = 3;
  chunk.newest = 8;
  batch.chunks.push_back(chunk);
  ASSERT_THAT(log_->Append(batch), IsOk());
  LogBatch again;
  chunk.bits[0] = 5;
  again.chunks = {chunk};
  again.forget_before = 6;
  ASSERT_THAT(log_->Append(again), IsOk());
  Open();
  std::vector<RememberedId> ids;
  EXPECT_THAT(log_->ForEachId([&](const RememberedId& one) { ids.push_back(one); }), IsOk());
  EXPECT_THAT(ids, SizeIs(2));
  std::vector<Cell> cells;
  EXPECT_THAT(log_->ForEachCell([&](const Cell& one) { cells.push_back(one); }), IsOk());
  ASSERT_THAT(cells, SizeIs(2));
  EXPECT_EQ(cells[0].content[0], std::byte{9});
  std::vector<IdChunk> chunks;
  EXPECT_THAT(log_->ForEachChunk([&](const IdChunk& one) { chunks.push_back(one); }), IsOk());
  EXPECT_THAT(chunks, ElementsAre(chunk));
  EXPECT_EQ(log_->forgotten_before(), 6);
}

TEST_P(ConformanceTest, ARemovedLogIsNotThere) {
  log_.reset();
  EXPECT_TRUE(engine_->Holds(folder()));
  EXPECT_TRUE(fs::exists(folder() + "/" + std::string(engine_->file())));
  ASSERT_THAT(engine_->Remove(folder()), IsOk());
  EXPECT_FALSE(engine_->Holds(folder()));
  EXPECT_THAT(engine_->Open(folder(), {}), StatusIs(absl::StatusCode::kDataLoss, "missing"));
  EXPECT_THAT(engine_->Remove(folder()), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Engines, ConformanceTest,
                         ::testing::Values(EngineKind{"sqlite", false,
                                                      [](const TempDir&) {
                                                        return server::DefaultLogEngine();
                                                      }},
                                           EngineKind{"postgresql", true,
                                                      [](const TempDir& keys) {
                                                        PgSettings settings =
                                                            SettingsFor(Postgres().connection());
                                                        settings.key_file = KeyFile(keys);
                                                        return MakePgEngine(settings);
                                                      }}),
                         [](const auto& info) { return info.param.name; });

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    proxy_ = FaultProxy::Start(Postgres().address());
    engine_ = MakePgEngine(SettingsFor(Through(*proxy_)));
    ASSERT_THAT(engine_->Create(folder_.path(), {}), IsOk());
  }
  absl::StatusOr<std::unique_ptr<UpdateLog>> Open(const std::string& holder = "one") {
    if (holder == "one") return engine_->Open(folder_.path(), {});
    return MakePgEngine(SettingsFor(Postgres().connection(), holder))->Open(folder_.path(), {});
  }
  static absl::Status Append(UpdateLog& log, const std::string& record) {
    LogBatch batch;
    batch.AddOwned(record);
    return log.Append(batch);
  }
  // As LogWriter does it.
  static absl::Status AppendSurely(UpdateLog& log, const std::string& record) {
    absl::Status status = Append(log, record);
    const absl::Time until = absl::Now() + absl::Seconds(30);
    while (absl::IsUnknown(status) && absl::Now() < until) {
      const auto durable = log.FindOut();
      if (durable.ok()) {
        status = *durable ? absl::OkStatus() : Append(log, record);
      } else {
        status = durable.status();
        absl::SleepFor(absl::Milliseconds(50));
      }
    }
    return status;
  }
  // Whether it was durable, once that can be told.
  static bool Found(UpdateLog& log) {
    absl::StatusOr<bool> durable = absl::UnknownError("");
    for (int i = 0; i < 200 && absl::IsUnknown(durable.status()); ++i) {
      durable = log.FindOut();
      if (!durable.ok()) absl::SleepFor(absl::Milliseconds(50));
    }
    EXPECT_THAT(durable, IsOk());
    return durable.value_or(false);
  }
  static std::vector<std::string> Records(const UpdateLog& log) {
    std::vector<std::string> records;
    EXPECT_THAT(ForEachEntry(log, {},
                             [&](const LogEntry& entry) {
                               records.push_back(entry.record);
                               return absl::OkStatus();
                             }),
                IsOk());
    return records;
  }

  TempDir folder_;
  std::unique_ptr<FaultProxy> proxy_;
  std::shared_ptr<const LogEngine> engine_;
};

TEST_F(PostgresTest, OneOwnerAtATime) {
  auto one = *Open();
  ASSERT_THAT(Append(*one, "a"), IsOk());
  EXPECT_THAT(Open("two"), StatusIs(absl::StatusCode::kUnavailable, "belongs to one"));
  one.reset();  // gives the lease back
  auto two = *Open("two");
  ASSERT_THAT(Append(*two, "b"), IsOk());
  EXPECT_THAT(Records(*two), ElementsAre("a", "b"));
}

TEST_F(PostgresTest, AFrozenOwnerThatWakesWritesNothing) {
  auto one = *Open();
  ASSERT_THAT(Append(*one, "a"), IsOk());
  proxy_->Set(FaultProxy::Mode::kBlackHole);  // nothing that it says arrives, no renewal either
  absl::StatusOr<std::unique_ptr<UpdateLog>> two = absl::UnavailableError("");
  for (int i = 0; i < 100 && !two.ok(); ++i) {
    two = Open("two");
    if (!two.ok()) absl::SleepFor(absl::Milliseconds(100));
  }
  ASSERT_THAT(two, IsOk());
  ASSERT_THAT(Append(**two, "b"), IsOk());
  proxy_->Set(FaultProxy::Mode::kPass);
  EXPECT_THAT(AppendSurely(*one, "stale"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(Records(**two), ElementsAre("a", "b"));
}

// A process may claim its own log again at once, and its former self is fenced.
TEST_F(PostgresTest, TheSameHolderComesBackAtOnce) {
  auto before = *Open();
  auto after = *Open();
  ASSERT_THAT(Append(*after, "a"), IsOk());
  EXPECT_THAT(AppendSurely(*before, "stale"),
              StatusIs(absl::StatusCode::kAborted, "belongs to one with term"));
}

TEST_F(PostgresTest, WhatBecameOfAnAppendIsFoundOut) {
  auto log = *Open();
  std::vector<std::string> expected;
  int number = 0;
  const auto append = [&] {
    expected.push_back("r" + std::to_string(++number));
    ASSERT_THAT(AppendSurely(*log, expected.back()), IsOk());
  };
  for (int round = 0; round < 3; ++round) {
    append();  // from here on the connection has its statement prepared
    // The server commits, and its answer does not arrive.
    proxy_->Set(FaultProxy::Mode::kDeaf);
    expected.push_back("r" + std::to_string(++number));
    absl::Status status = Append(*log, expected.back());
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kUnknown));
    proxy_->Set(FaultProxy::Mode::kPass);
    EXPECT_TRUE(Found(*log));
    append();
    // The server hears nothing.
    proxy_->Set(FaultProxy::Mode::kBlackHole);
    expected.push_back("r" + std::to_string(++number));
    status = Append(*log, expected.back());
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kUnknown));
    proxy_->Cut();
    proxy_->Set(FaultProxy::Mode::kPass);
    if (!Found(*log)) {
      ASSERT_THAT(AppendSurely(*log, expected.back()), IsOk());
    }
    // It goes away and comes back.
    proxy_->Set(FaultProxy::Mode::kRefuse);
    expected.push_back("r" + std::to_string(++number));
    ASSERT_THAT(Append(*log, expected.back()), StatusIs(absl::StatusCode::kUnknown));
    EXPECT_THAT(log->FindOut(), StatusIs(absl::StatusCode::kUnknown));
    proxy_->Set(FaultProxy::Mode::kPass);
    // Nothing else may be appended before it is found out.
    EXPECT_THAT(Append(*log, "another"), StatusIs(absl::StatusCode::kUnknown));
    if (!Found(*log)) {
      ASSERT_THAT(AppendSurely(*log, expected.back()), IsOk());
    }
  }
  EXPECT_EQ(Records(*log), expected);
  log.reset();
  EXPECT_EQ(Records(**Open()), expected);
}

// A call that failed before anything was sent is not taken for durable, and no record is sealed
// under a key that the database may not have.
TEST_F(PostgresTest, WhatWasNeverSentIsNotDurable) {
  PgSettings settings = SettingsFor(Through(*proxy_));
  const TempDir keys;
  settings.key_file = KeyFile(keys);
  engine_ = MakePgEngine(settings);
  ASSERT_THAT(engine_->Create(folder_.path(), {}), IsOk());
  auto log = *Open();
  std::vector<std::string> expected;
  const auto append_away = [&] {
    proxy_->Set(FaultProxy::Mode::kRefuse);
    expected.push_back("r" + std::to_string(expected.size()));
    EXPECT_THAT(Append(*log, expected.back()), StatusIs(absl::StatusCode::kUnknown));
    proxy_->Set(FaultProxy::Mode::kPass);
    if (!Found(*log)) {
      ASSERT_THAT(AppendSurely(*log, expected.back()), IsOk());
    }
  };
  const auto append = [&](int count) {
    for (int i = 0; i < count; ++i) {
      expected.push_back("r" + std::to_string(expected.size()));
      ASSERT_THAT(AppendSurely(*log, expected.back()), IsOk());
    }
  };
  append(1);
  proxy_->Set(FaultProxy::Mode::kRefuse);
  EXPECT_THAT(log->Trim(1, 512), StatusIs(absl::StatusCode::kUnknown));
  EXPECT_THAT(log->Trim(1, 512), StatusIs(absl::StatusCode::kUnknown));
  append_away();
  append(254);
  append_away();  // with a new key
  append(3);
  EXPECT_EQ(Records(*log), expected);
  log.reset();
  EXPECT_EQ(Records(**Open()), expected);
}

TEST_F(PostgresTest, ADatabaseThatDiesLosesNothing) {
  PostgresServer own;
  engine_ = MakePgEngine(SettingsFor(own.connection()));
  ASSERT_THAT(engine_->Create(folder_.path(), {}), IsOk());
  auto log = *Open();
  std::vector<std::string> expected;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) {
      expected.push_back(std::to_string(round * 100 + i));
      ASSERT_THAT(AppendSurely(*log, expected.back()), IsOk());
    }
    own.Kill();
    own.Start();
  }
  EXPECT_EQ(Records(*log), expected);
}

TEST_F(PostgresTest, WhatKeepsItFromOpeningIsNamed) {
  const auto open = [&](const std::string& connection) {
    return MakePgEngine(SettingsFor(connection))->Open(folder_.path(), {}).status();
  };
  EXPECT_THAT(open("host=127.0.0.1 port=1 dbname=bandana"),
              StatusIs(absl::StatusCode::kUnavailable, "does not let us in"));
  const absl::Status form = open("host=127.0.0.1 secret");
  EXPECT_THAT(form, StatusIs(absl::StatusCode::kInvalidArgument, "must be keywords"));
  EXPECT_EQ(form.ToString().find("secret"), std::string::npos);
  EXPECT_THAT(open(Postgres().connection() + " dbname=nothing"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "does not exist"));
  EXPECT_THAT(open(Postgres().connection() + " options='-c synchronous_commit=off'"), IsOk());
  EXPECT_THAT(MakePgEngine(SettingsFor(Postgres().connection()))
                  ->Open(folder_.path(), {.erase_trimmed = true}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "key_file: is required"));
}

TEST_F(PostgresTest, TablesOfAnotherVersionAreNotTouched) {
  PostgresServer own;
  engine_ = MakePgEngine(SettingsFor(own.connection()));
  ASSERT_THAT(engine_->Create(folder_.path(), {}), IsOk());
  own.Sql("UPDATE bandana.version SET version = 9");
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kFailedPrecondition, "have version 9"));
}

TEST_F(PostgresTest, DamagedRowsAreDataLoss) {
  auto log = *Open();
  LogBatch batch;
  batch.AddOwned("one");
  batch.AddOwned("two");
  ASSERT_THAT(log->Append(batch), IsOk());
  log.reset();
  Postgres().Sql("UPDATE bandana.batches SET records = set_byte(records, length(records) - 1, 1)");
  log = *Open();
  std::vector<LogEntry> entries;
  EXPECT_THAT(log->Read({}, 10, entries), StatusIs(absl::StatusCode::kDataLoss));
}

// No byte of a sealed record stands in any file of the database, write-ahead log included.
TEST_F(PostgresTest, SealedRecordsAreNowhereInClear) {
  PostgresServer own;
  PgSettings settings = SettingsFor(own.connection());
  const TempDir keys;
  settings.key_file = KeyFile(keys);
  engine_ = MakePgEngine(settings);
  ASSERT_THAT(engine_->Create(folder_.path(), {}), IsOk());
  auto log = *Open();
  const std::string secret = "a reward that nobody may see";
  ASSERT_THAT(Append(*log, secret), IsOk());
  EXPECT_THAT(Records(*log), ElementsAre(secret));
  // The key goes with the last entry under it.
  ASSERT_THAT(Append(*log, secret), IsOk());
  ASSERT_THAT(log->Trim(1, 512), IsOk());
  EXPECT_EQ(own.Count("bandana.seal_keys"), 2);
  ASSERT_THAT(log->Trim(2, 512), IsOk());
  EXPECT_EQ(own.Count("bandana.seal_keys"), 1);
  ASSERT_THAT(Append(*log, secret), IsOk());
  own.Sql("CHECKPOINT");
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(own.data())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(bytes.find("nobody may see"), std::string::npos) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 100);
  // Records from before there was a key stay readable beside sealed ones.
  const TempDir plain_folder;
  const auto plain = MakePgEngine(SettingsFor(own.connection(), "two"));
  ASSERT_THAT(plain->Create(plain_folder.path(), {}), IsOk());
  auto was_plain = *plain->Open(plain_folder.path(), {});
  ASSERT_THAT(Append(*was_plain, "a"), IsOk());
  was_plain.reset();
  settings.holder = "two";
  was_plain = *MakePgEngine(settings)->Open(plain_folder.path(), {});
  ASSERT_THAT(Append(*was_plain, "b"), IsOk());
  EXPECT_THAT(Records(*was_plain), ElementsAre("a", "b"));
  was_plain.reset();
  // Without the key, or with another one, it does not open.
  log.reset();
  EXPECT_THAT(MakePgEngine(SettingsFor(own.connection()))->Open(folder_.path(), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no key is given"));
  ASSERT_THAT(WriteFileDurably(settings.key_file, std::string(64, 'b'), 0600), IsOk());
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kFailedPrecondition, "another key"));
}

}  // namespace
}  // namespace bandana::server
