#include "server/log/sqlite_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "common/base/file.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

EntryId IdOf(int number) {
  EntryId id{};
  id[0] = static_cast<std::byte>(number);
  id[1] = static_cast<std::byte>(number >> 8);
  return id;
}

class SqliteLogTest : public ::testing::Test {
 protected:
  SqliteLogTest() { options_.path = folder_.File("log.sqlite"); }
  void Create(const LogPosition& start = {}) {
    ASSERT_THAT(CreateSqliteLog(options_, start), IsOk());
  }
  std::unique_ptr<UpdateLog> Open() {
    auto log = OpenSqliteLog(options_);
    EXPECT_THAT(log, IsOk());
    return *std::move(log);
  }
  static absl::Status Append(UpdateLog& log, std::vector<std::string> records) {
    LogBatch batch;
    for (const std::string& record : records) batch.Add(record);
    return log.Append(batch);
  }
  static std::vector<std::string> ReadAll(const UpdateLog& log, const LogPosition& after = {}) {
    std::vector<LogEntry> entries;
    EXPECT_THAT(log.Read(after, 1'000'000, entries), IsOk());
    std::vector<std::string> records;
    for (const LogEntry& entry : entries) records.push_back(entry.record);
    return records;
  }
  // Runs SQL on the closed file.
  void Tamper(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(options_.path.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  TempDir folder_;
  SqliteLogOptions options_;
};

TEST_F(SqliteLogTest, AFileWithOneIdAnEntryIsConverted) {
  Create();
  {
    LogBatch batch;
    batch.Add("a", {RememberedId{5, 1, IdOf(1)}});
    ASSERT_THAT(Open()->Append(batch), IsOk());
  }
  Tamper(
      "ALTER TABLE ids RENAME TO now;"
      "CREATE TABLE ids(bucket INTEGER, sequence INTEGER, kind INTEGER NOT NULL, id BLOB NOT NULL,"
      " checksum INTEGER NOT NULL, PRIMARY KEY (bucket, sequence)) WITHOUT ROWID;"
      "INSERT INTO ids SELECT * FROM now; DROP TABLE now; DROP TABLE cells; "
      "DROP TABLE chunks; PRAGMA user_version = 1");
  LogBatch batch;
  batch.Add("b", {RememberedId{5, 1, IdOf(2)}, RememberedId{5, 1, IdOf(3)}});
  ASSERT_THAT(Open()->Append(batch), IsOk());
  const auto log = Open();
  int ids = 0;
  ASSERT_THAT(log->ForEachId([&](const RememberedId&) { ++ids; }), IsOk());
  EXPECT_EQ(ids, 3);
  EXPECT_EQ(ReadAll(*log), (std::vector<std::string>{"a", "b"}));
}

IdChunk ChunkOf(std::uint64_t issuer, std::uint64_t number, std::int64_t newest, int bit) {
  IdChunk chunk{.issuer = issuer, .kind = 1, .number = number, .newest = newest};
  chunk.bits[bit / 64] = std::uint64_t{1} << (bit % 64);
  return chunk;
}

std::vector<IdChunk> ChunksOf(const UpdateLog& log) {
  std::vector<IdChunk> chunks;
  EXPECT_THAT(log.ForEachChunk([&](const IdChunk& chunk) { chunks.push_back(chunk); }), IsOk());
  return chunks;
}

TEST_F(SqliteLogTest, ChunksOfIdsAreWrittenAgainAndForgotten) {
  Create();
  const std::uint64_t issuer = 0xfedcba9876543210;  // its highest bit is set
  IdChunk first = ChunkOf(issuer, 0, 5, 3);
  const IdChunk second = ChunkOf(issuer, 1, 6, 4095);
  {
    const auto log = Open();
    LogBatch batch;
    batch.chunks = {first, second};
    ASSERT_THAT(log->Append(batch), IsOk());
    first.bits[7] = 7;
    first.newest = 6;
    batch.chunks = {first};
    batch.forget_before = 5;
    ASSERT_THAT(log->Append(batch), IsOk());
  }
  EXPECT_THAT(ChunksOf(*Open()), ElementsAre(first, second));
  IdChunk third = ChunkOf(7, 0, 8, 0);
  LogBatch batch;
  batch.chunks = {third};
  batch.forget_before = 7;
  ASSERT_THAT(Open()->Append(batch), IsOk());
  EXPECT_THAT(ChunksOf(*Open()), ElementsAre(third));
}

TEST_F(SqliteLogTest, ChangedOrVanishedChunksAreFound) {
  Create();
  LogBatch batch;
  batch.chunks = {ChunkOf(1, 0, 5, 3), ChunkOf(1, 1, 5, 3)};
  ASSERT_THAT(Open()->Append(batch), IsOk());
  const auto ignore = [](const IdChunk&) {};
  Tamper("UPDATE chunks SET newest = 6 WHERE number = 1");
  EXPECT_THAT(Open()->ForEachChunk(ignore),
              StatusIs(absl::StatusCode::kDataLoss, "chunk 1 of decision ids"));
  Tamper("DELETE FROM chunks WHERE number = 1");
  EXPECT_THAT(Open()->ForEachChunk(ignore), StatusIs(absl::StatusCode::kDataLoss, "holds 1"));
}

TEST_F(SqliteLogTest, AFileWithoutChunksIsConvertedByItsFirstChange) {
  Create();
  ASSERT_THAT(Append(*Open(), {"a"}), IsOk());
  Tamper("DROP TABLE chunks; PRAGMA user_version = 3");
  const auto log = Open();
  EXPECT_THAT(ChunksOf(*log), ::testing::IsEmpty());
  LogBatch batch;
  batch.Add("b");
  batch.chunks = {ChunkOf(1, 0, 5, 3)};
  ASSERT_THAT(log->Append(batch), IsOk());
  EXPECT_THAT(ReadAll(*log), ElementsAre("a", "b"));
  EXPECT_THAT(ChunksOf(*Open()), SizeIs(1));
}

Cell CellOf(std::uint64_t slot, int number) {
  Cell cell{.slot = slot, .live = true, .id = IdOf(number)};
  cell.content.fill(static_cast<std::byte>(0xa0 + number));
  return cell;
}

std::vector<Cell> CellsOf(const UpdateLog& log) {
  std::vector<Cell> cells;
  EXPECT_THAT(log.ForEachCell([&](const Cell& cell) { cells.push_back(cell); }), IsOk());
  return cells;
}

TEST_F(SqliteLogTest, CellsAreWrittenOverAndBesideTheEntries) {
  Create();
  {
    const auto log = Open();
    LogBatch batch;
    batch.Add("a");
    batch.cells = {CellOf(0, 1), CellOf(1, 2), CellOf(2, 3)};
    ASSERT_THAT(log->Append(batch), IsOk());
    batch = {};
    batch.cells = {CellOf(1, 4), {.slot = 0}};
    const LogPosition before = log->last();
    ASSERT_THAT(log->Append(batch), IsOk());
    EXPECT_EQ(log->last(), before);
  }
  const auto log = Open();
  EXPECT_EQ(CellsOf(*log), (std::vector<Cell>{{.slot = 0}, CellOf(1, 4), CellOf(2, 3)}));
  LogBatch beyond;
  beyond.cells = {CellOf(4, 1)};
  EXPECT_FALSE(log->Append(beyond).ok());
  EXPECT_THAT(CellsOf(*Open()), SizeIs(3));
}

// A thief of the file finds neither what a cell held before, nor by its size that it was written.
TEST_F(SqliteLogTest, TheBytesOfACellDoNotSurviveItsNextWriting) {
  Create();
  const auto fill = [&](int number) {
    LogBatch batch;
    for (std::uint64_t slot = 0; slot < 500; ++slot) batch.cells.push_back(CellOf(slot, number));
    ASSERT_THAT(Open()->Append(batch), IsOk());
  };
  fill(1);
  const auto size = std::filesystem::file_size(options_.path);
  EXPECT_NE(ReadFile(options_.path, 1 << 20)->find(std::string(40, '\xa1')), std::string::npos);
  fill(2);
  EXPECT_EQ(std::filesystem::file_size(options_.path), size);
  EXPECT_EQ(ReadFile(options_.path, 1 << 20)->find(std::string(4, '\xa1')), std::string::npos);
  LogBatch batch;
  for (std::uint64_t slot = 0; slot < 500; ++slot) batch.cells.push_back({.slot = slot});
  ASSERT_THAT(Open()->Append(batch), IsOk());
  EXPECT_EQ(std::filesystem::file_size(options_.path), size);
  EXPECT_EQ(ReadFile(options_.path, 1 << 20)->find(std::string(4, '\xa2')), std::string::npos);
}

TEST_F(SqliteLogTest, DamagedCellsAreFound) {
  for (const char* damage :
       {"DELETE FROM cells WHERE slot = 1", "DELETE FROM cells WHERE slot = 0",
        "UPDATE cells SET value = (SELECT value FROM cells WHERE slot = 0) WHERE slot = 1",
        "UPDATE cells SET value = zeroblob(73) WHERE slot = 1",
        "INSERT INTO cells SELECT 2, value FROM cells WHERE slot = 0"}) {
    SCOPED_TRACE(damage);
    Create();
    LogBatch batch;
    batch.cells = {CellOf(0, 1), CellOf(1, 2)};
    ASSERT_THAT(Open()->Append(batch), IsOk());
    Tamper(damage);
    EXPECT_THAT(Open()->ForEachCell([](const Cell&) {}), StatusIs(absl::StatusCode::kDataLoss));
  }
}

// Until its model is taken over a file of the former version stays one.
TEST_F(SqliteLogTest, AFileWithoutCellsIsConvertedWithItsFirstChange) {
  Create();
  ASSERT_THAT(Append(*Open(), {"a"}), IsOk());
  Tamper("DROP TABLE cells; DROP TABLE chunks; PRAGMA user_version = 2");
  const auto version = [&] { return (*ReadFile(options_.path, 1 << 20))[63]; };
  EXPECT_EQ(ReadAll(*Open()), (std::vector<std::string>{"a"}));
  EXPECT_THAT(CellsOf(*Open()), IsEmpty());
  EXPECT_EQ(version(), 2);
  LogBatch batch;
  batch.cells = {CellOf(0, 1)};
  ASSERT_THAT(Open()->Append(batch), IsOk());
  EXPECT_EQ(version(), 4);
  EXPECT_EQ(CellsOf(*Open()), (std::vector<Cell>{CellOf(0, 1)}));
}

TEST_F(SqliteLogTest, EntriesComeBackInOrderWithTheirRunningHash) {
  Create();
  const auto log = Open();
  ASSERT_THAT(Append(*log, {"a", ""}), IsOk());
  ASSERT_THAT(Append(*log, {"c"}), IsOk());
  std::vector<LogEntry> entries;
  ASSERT_THAT(log->Read({}, 10, entries), IsOk());
  ASSERT_THAT(entries, SizeIs(3));
  // hash_n = SHA-256(hash_{n-1} || record_n), computed here from its definition.
  std::string previous(32, '\0');
  const char* records[] = {"a", "", "c"};
  for (int i = 0; i < 3; ++i) {
    const Sha256Digest hash = Sha256Of(previous + records[i]);
    EXPECT_EQ(entries[i].position.sequence, i + 1);
    EXPECT_EQ(entries[i].record, records[i]);
    EXPECT_EQ(entries[i].position.hash, hash);
    previous = AsChars(hash);
  }
  EXPECT_EQ(log->last(), entries[2].position);
  entries.clear();
  ASSERT_THAT(log->Read(log->last(), 10, entries), IsOk());
  EXPECT_THAT(entries, IsEmpty());
}

TEST_F(SqliteLogTest, ReadsStopAtTheirLimit) {
  Create();
  const auto log = Open();
  ASSERT_THAT(Append(*log, {"a", "b", "c"}), IsOk());
  std::vector<LogEntry> entries;
  ASSERT_THAT(log->Read({}, 2, entries), IsOk());
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_THAT(ReadAll(*log, entries.back().position), ElementsAre("c"));
}

TEST_F(SqliteLogTest, EverythingSurvivesReopening) {
  Create();
  {
    const auto log = Open();
    LogBatch batch{.counters = "seven"};
    batch.Add("a", {RememberedId{5, 1, IdOf(1)}});
    batch.Add("b", {RememberedId{6, 0, IdOf(2)}});
    ASSERT_THAT(log->Append(batch), IsOk());
    ASSERT_THAT(log->Append({.forget_before = 6, .counters = "eight"}), IsOk());
  }
  const auto log = Open();
  EXPECT_EQ(log->counters(), "eight");
  EXPECT_EQ(log->forgotten_before(), 6);
  EXPECT_EQ(log->last().sequence, 2);
  std::vector<RememberedId> ids;
  ASSERT_THAT(log->ForEachId([&](const RememberedId& id) { ids.push_back(id); }), IsOk());
  ASSERT_THAT(ids, SizeIs(1));
  EXPECT_EQ(ids[0].bucket, 6);
  EXPECT_EQ(ids[0].kind, 0);
  EXPECT_EQ(ids[0].id, IdOf(2));
}

TEST_F(SqliteLogTest, TrimDropsTheOldestInSlices) {
  Create();
  auto log = Open();
  ASSERT_THAT(Append(*log, {"a", "b", "c", "d", "e"}), IsOk());
  std::vector<LogEntry> entries;
  ASSERT_THAT(log->Read({}, 10, entries), IsOk());
  EXPECT_THAT(log->Trim(3, 2), IsOkAndHolds(true));
  EXPECT_EQ(log->trimmed(), 2);
  EXPECT_THAT(log->Trim(3, 2), IsOkAndHolds(false));
  EXPECT_EQ(log->trimmed(), 3);
  EXPECT_THAT(log->Trim(2, 2), IsOkAndHolds(false));
  log.reset();
  log = Open();
  EXPECT_EQ(log->trimmed(), 3);
  EXPECT_THAT(ReadAll(*log, entries[2].position), ElementsAre("d", "e"));
  std::vector<LogEntry> gone;
  EXPECT_THAT(log->Read({}, 10, gone),
              StatusIs(absl::StatusCode::kDataLoss, "log entry 1 is missing"));
  EXPECT_THAT(log->Trim(1000, 1000), IsOkAndHolds(false));
  EXPECT_EQ(log->trimmed(), 5);
  ASSERT_THAT(Append(*log, {"f"}), IsOk());
  EXPECT_THAT(ReadAll(*log, entries[4].position), ElementsAre("f"));
}

TEST_F(SqliteLogTest, ALogMayContinueAnotherState) {
  LogPosition start{.sequence = 41};
  start.hash.fill(std::byte{9});
  Create(start);
  auto log = Open();
  EXPECT_EQ(log->last(), start);
  EXPECT_EQ(log->trimmed(), 41);
  ASSERT_THAT(Append(*log, {"x"}), IsOk());
  EXPECT_EQ(log->last().sequence, 42);
  EXPECT_THAT(ReadAll(*log, start), ElementsAre("x"));
}

TEST_F(SqliteLogTest, AMissingFileIsDataLoss) {
  EXPECT_THAT(OpenSqliteLog(options_), StatusIs(absl::StatusCode::kDataLoss, "is missing"));
}

TEST_F(SqliteLogTest, AFileThatIsNoDatabaseIsDataLoss) {
  ASSERT_THAT(WriteFileDurably(options_.path, std::string(8192, 'x'), 0600), IsOk());
  EXPECT_THAT(OpenSqliteLog(options_), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(SqliteLogTest, ChangedRecordsAreFoundWithTheirSequence) {
  Create();
  ASSERT_THAT(Append(*Open(), {"aaaa", "bbbb", "cccc"}), IsOk());
  Tamper("UPDATE log SET record = x'62626263' WHERE sequence = 2");
  const auto log = Open();
  std::vector<LogEntry> entries;
  EXPECT_THAT(log->Read({}, 10, entries),
              StatusIs(absl::StatusCode::kDataLoss, "log entry 2 does not continue"));
}

TEST_F(SqliteLogTest, VanishedEntriesAreFound) {
  Create();
  ASSERT_THAT(Append(*Open(), {"a", "b", "c"}), IsOk());
  Tamper("DELETE FROM log WHERE sequence = 3");
  std::vector<LogEntry> entries;
  EXPECT_THAT(Open()->Read({}, 10, entries),
              StatusIs(absl::StatusCode::kDataLoss, "log entry 3 is missing"));
}

TEST_F(SqliteLogTest, ChangedOrVanishedIdsAreFound) {
  Create();
  LogBatch batch;
  batch.Add("a", {RememberedId{5, 1, IdOf(1)}});
  batch.Add("b", {RememberedId{5, 1, IdOf(2)}});
  ASSERT_THAT(Open()->Append(batch), IsOk());
  const auto ignore = [](const RememberedId&) {};
  Tamper("UPDATE ids SET bucket = 6 WHERE sequence = 2");
  EXPECT_THAT(Open()->ForEachId(ignore),
              StatusIs(absl::StatusCode::kDataLoss, "decision id of log entry 2"));
  Tamper("DELETE FROM ids WHERE sequence = 2");
  EXPECT_THAT(Open()->ForEachId(ignore), StatusIs(absl::StatusCode::kDataLoss, "holds 1"));
}

TEST_F(SqliteLogTest, AChangedStateRowIsFound) {
  Create();
  ASSERT_THAT(Append(*Open(), {"a"}), IsOk());
  Tamper("UPDATE state SET value = x'01' || substr(value, 2, 8) || x'00' || substr(value, 11)");
  EXPECT_THAT(OpenSqliteLog(options_), StatusIs(absl::StatusCode::kDataLoss, "log state"));
}

TEST_F(SqliteLogTest, AFullDiskChangesNothingAndMayHeal) {
  FaultVfs& faults = FaultVfs::Instance();
  faults.Reset();
  options_.vfs = FaultVfs::kName;
  Create();
  const auto log = Open();
  ASSERT_THAT(Append(*log, {"a"}), IsOk());
  faults.disk_full = true;
  EXPECT_THAT(Append(*log, {"b", "c"}), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(log->last().sequence, 1);
  faults.disk_full = false;
  ASSERT_THAT(Append(*log, {"d"}), IsOk());
  EXPECT_THAT(ReadAll(*log), ElementsAre("a", "d"));
}

TEST_F(SqliteLogTest, EveryAppendIsSynced) {
  FaultVfs& faults = FaultVfs::Instance();
  faults.Reset();
  options_.vfs = FaultVfs::kName;
  Create();
  const auto log = Open();
  for (int i = 0; i < 5; ++i) {
    const int before = faults.syncs;
    ASSERT_THAT(Append(*log, {"a"}), IsOk());
    EXPECT_GT(faults.syncs, before);
  }
}

TEST_F(SqliteLogTest, AFailedSyncIsAnErrorOfAnotherKind) {
  FaultVfs& faults = FaultVfs::Instance();
  faults.Reset();
  options_.vfs = FaultVfs::kName;
  Create();
  const auto log = Open();
  faults.fail_sync = true;
  EXPECT_THAT(Append(*log, {"a"}), StatusIs(absl::StatusCode::kUnavailable));
  faults.fail_sync = false;
}

TEST_F(SqliteLogTest, TheWriteAheadFileStartsAnewWhileAppendsGoOn) {
  options_.wal_pages_max = 20;
  Create();
  const auto log = Open();
  // The salts in the header change when SQLite starts the file anew.
  const auto salts = [&] { return ReadFile(options_.path + "-wal", 1 << 30)->substr(16, 8); };
  const std::string large(3000, 'x');
  ASSERT_THAT(Append(*log, {large}), IsOk());
  const std::string first = salts();
  std::size_t appended = 1;
  for (; appended < 5000 && salts() == first; ++appended) {
    ASSERT_THAT(Append(*log, {large}), IsOk());
  }
  EXPECT_NE(salts(), first);
  EXPECT_THAT(ReadAll(*log), SizeIs(appended));
}

// The write-ahead file after a crash. SQLite removes it on a clean close, so the tests copy it
// while the log is open.
class SqliteLogCrashTest : public SqliteLogTest {
 protected:
  // Appends one record per transaction, then leaves files as a crash would.
  void CrashAfter(int transactions) {
    Create();
    const auto log = Open();
    for (int i = 0; i < transactions; ++i) {
      ASSERT_THAT(Append(*log, {"record " + std::to_string(i)}), IsOk());
    }
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(options_.path + suffix, crashed_.path + suffix);
    }
  }
  std::uint64_t WalSize() { return std::filesystem::file_size(crashed_.path + "-wal"); }
  void FlipBit(std::uint64_t offset) {
    std::fstream file(crashed_.path + "-wal", std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }

  SqliteLogOptions crashed_{.path = folder_.File("crashed.sqlite")};
};

TEST_F(SqliteLogCrashTest, WhatWasSyncedIsThere) {
  CrashAfter(10);
  const auto log = OpenSqliteLog(crashed_);
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT(ReadAll(**log), SizeIs(10));
}

TEST_F(SqliteLogCrashTest, ATornTailLosesOnlyTheLastTransaction) {
  CrashAfter(10);
  std::filesystem::resize_file(crashed_.path + "-wal", WalSize() - 100);
  const auto log = OpenSqliteLog(crashed_);
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT(ReadAll(**log), SizeIs(9));
  ASSERT_THAT(Append(**log, {"next"}), IsOk());
  EXPECT_THAT(ReadAll(**log), SizeIs(10));
}

TEST_F(SqliteLogCrashTest, GarbageBehindTheEndIsIgnored) {
  CrashAfter(10);
  std::ofstream(crashed_.path + "-wal", std::ios::app | std::ios::binary) << std::string(9000, 'g');
  const auto log = OpenSqliteLog(crashed_);
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT(ReadAll(**log), SizeIs(10));
}

TEST_F(SqliteLogCrashTest, AFlippedBitInTheMiddleIsDataLossAndNotATornTail) {
  CrashAfter(10);
  const std::uint64_t size = WalSize();
  for (const double part : {0.1, 0.3, 0.5, 0.7}) {
    const auto offset = static_cast<std::uint64_t>(part * static_cast<double>(size));
    FlipBit(offset);
    EXPECT_THAT(OpenSqliteLog(crashed_),
                StatusIs(absl::StatusCode::kDataLoss, "is damaged at frame"))
        << part;
    FlipBit(offset);
  }
  FlipBit(20);
  EXPECT_THAT(OpenSqliteLog(crashed_), StatusIs(absl::StatusCode::kDataLoss, "in its header"));
  FlipBit(20);
  EXPECT_THAT(OpenSqliteLog(crashed_), IsOk());
}

TEST_F(SqliteLogCrashTest, EveryFlippedBitOfTheDatabaseIsFoundOrHarmless) {
  Create();
  {
    const auto log = Open();
    for (int i = 0; i < 40; ++i) {
      const std::string record = "record " + std::to_string(i) + std::string(200, 'x');
      LogBatch batch{.counters = "counters"};
      batch.Add(record, {RememberedId{i / 10, 1, IdOf(i)}});
      batch.chunks.push_back(IdChunk{.issuer = 9, .number = std::uint64_t(i / 10), .newest = i});
      batch.chunks.back().bits[i] = 1;
      ASSERT_THAT(log->Append(batch), IsOk());
    }
  }
  absl::StatusOr<std::string> good = ReadFile(options_.path, 1 << 24);
  ASSERT_THAT(good, IsOk());
  // A reader's view of the file; empty when it refuses it.
  const auto content = [&]() -> std::string {
    const auto log = OpenSqliteLog(options_);
    if (!log.ok()) return "";
    std::string all = (*log)->counters() + std::to_string((*log)->forgotten_before());
    int ids = 0;
    if (!(*log)
             ->ForEachId([&](const RememberedId& id) {
               ids += static_cast<int>(id.bucket) + std::to_integer<int>(id.id[0]);
             })
             .ok()) {
      return "";
    }
    const absl::Status chunks = (*log)->ForEachChunk([&](const IdChunk& chunk) {
      ids += static_cast<int>(chunk.newest + chunk.number + KnownIds(chunk.bits));
    });
    if (!chunks.ok()) return "";
    std::vector<LogEntry> entries;
    if (!(*log)->Read({}, 1000, entries).ok()) return "";
    for (const LogEntry& entry : entries) all += entry.record;
    return all + std::to_string(ids);
  };
  const std::string expected = content();
  ASSERT_NE(expected, "");
  int found = 0;
  constexpr int kFlips = 200;
  for (int i = 0; i < kFlips; ++i) {
    std::string bad = *good;
    // Offsets spread over the file by a stride that is coprime to its size; bits in turn.
    const std::size_t offset = (static_cast<std::size_t>(i) * 7919 + 101) % bad.size();
    bad[offset] = static_cast<char>(bad[offset] ^ (1 << (i % 8)));
    std::filesystem::remove(options_.path + "-wal");
    std::filesystem::remove(options_.path + "-shm");
    ASSERT_THAT(WriteFileDurably(options_.path, bad, 0600), IsOk());
    const std::string now = content();
    if (now.empty()) {
      ++found;
    } else {
      EXPECT_EQ(now, expected) << "offset " << offset << " bit " << i % 8;
    }
  }
  EXPECT_GT(found, kFlips / 4);  // the rest hit unused space
}

}  // namespace
}  // namespace bandana::server
