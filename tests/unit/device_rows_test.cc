// The device's state over rows that a host keeps: hosts that fail, answer late, twice or never, and
// rows that are missing, altered, older or of another store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "client/core/adopted_tokens.h"
#include "client/core/writer.h"
#include "client/src/store/key_sealer.h"
#include "client/src/store/schema.h"
#include "client/src/store/sqlite_rows.h"
#include "tests/support/memory_rows.h"
#include "tests/support/status_matchers.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

absl::StatusOr<std::unique_ptr<Sealer>> MakeTestSealer(std::string_view identity) {
  return KeySealer::Create(std::string(32, 'k'), identity);
}

// A writer over rows in memory, and what its operations heard.
class WriterTest : public ::testing::Test {
 protected:
  void Open(const MemoryRows::Content& content) {
    auto rows = std::make_unique<MemoryRows>(content);
    rows_ = rows.get();
    auto tables = Tables::Create(std::move(rows), MakeTestSealer);
    ASSERT_THAT(tables, IsOk());
    writer_ = std::make_unique<Writer>(*std::move(tables));
  }
  // Opens the store and reads the answers that it keeps of model m.
  absl::Status OpenStatus(const MemoryRows::Content& content) {
    auto tables = Tables::Create(std::make_unique<MemoryRows>(content), MakeTestSealer);
    if (!tables.ok()) return tables.status();
    (*tables)->kept().Of("m");
    return (*tables)->rows().failure();
  }
  void Write(const Writer::Operation& operation) {
    std::vector<Writer::Entry> entries;
    entries.push_back({.operation = operation, .committed = [this](const absl::Status& status) {
                         heard_.push_back(status.code());
                       }});
    Write(std::move(entries));
  }
  void Write(std::vector<Writer::Entry> entries) {
    const auto group = writer_->Begin(std::move(entries), [] { return std::nullopt; });
    writer_->Run(*group);
    writer_->Commit(group, [this](bool durable) { durable_.push_back(durable); });
  }
  void Debit(std::uint64_t events) {
    Write([events](Transaction& transaction) {
      transaction.tables.Debit({.policy = 1, .user = "u", .events = events});
      return absl::OkStatus();
    });
  }
  std::uint64_t Events() { return writer_->tables().Events(1, "u"); }
  void Start() {
    Write([](Transaction& transaction) {
      transaction.tables.NextRun(0);
      return absl::OkStatus();
    });
    heard_.clear();
    durable_.clear();
  }

  MemoryRows* rows_ = nullptr;  // of the writer
  std::unique_ptr<Writer> writer_;
  std::vector<absl::StatusCode> heard_;
  std::vector<bool> durable_;
};

TEST_F(WriterTest, ACommitThatFailsUndoesTheTransaction) {
  Open(MemoryRows::NewStore('i'));
  Start();
  Debit(3);
  rows_->commits = MemoryRows::Commits::kFail;
  Debit(4);
  EXPECT_EQ(Events(), 3);
  rows_->commits = MemoryRows::Commits::kStand;
  Debit(5);
  EXPECT_EQ(Events(), 8);
  EXPECT_THAT(heard_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kUnavailable,
                                  absl::StatusCode::kOk));
  EXPECT_THAT(durable_, ElementsAre(true, false, true));
}

TEST_F(WriterTest, ACommitThatStandsAlthoughTheHostSaidNoIsReadAgain) {
  Open(MemoryRows::NewStore('i'));
  Start();
  rows_->commits = MemoryRows::Commits::kFailButStand;
  Debit(4);
  EXPECT_EQ(Events(), 4);  // a debit too many, never one too few
  EXPECT_THAT(heard_, ElementsAre(absl::StatusCode::kUnavailable));
}

TEST_F(WriterTest, NothingIsGrantedBeforeTheCommitIsAnswered) {
  Open(MemoryRows::NewStore('i'));
  Start();
  rows_->commits = MemoryRows::Commits::kUnanswered;
  absl::StatusOr<Ledger::Grant> grant;
  Write([&grant](Transaction& transaction) {
    grant = transaction.ledger.Take(transaction.tables, {.model = "m", .policy = 1, .user = "u"});
    return absl::OkStatus();
  });
  EXPECT_EQ(*grant, Ledger::Grant::kAfterCommit);
  EXPECT_TRUE(writer_->busy());
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_THAT(durable_, IsEmpty());
  rows_->answer(absl::OkStatus());
  EXPECT_FALSE(writer_->busy());
  EXPECT_THAT(heard_, ElementsAre(absl::StatusCode::kOk));
}

// Operations may run while others are in the core: what they read of it they read before, and what
// they do to it waits.
TEST_F(WriterTest, AnOperationTouchesTheCoreBeforeAndAfterIt) {
  Open(MemoryRows::NewStore('i'));
  Start();
  std::string order;
  std::vector<Writer::Entry> entries;
  entries.push_back({.before = [&order] { order += "before "; },
                     .operation =
                         [&order](Transaction& transaction) {
                           order += "operation ";
                           transaction.after.emplace_back([&order] { order += "after "; });
                           return absl::OkStatus();
                         },
                     .committed = [&order](const absl::Status&) { order += "committed"; }});
  const auto group = writer_->Begin(std::move(entries), [] { return std::nullopt; });
  EXPECT_EQ(order, "before ");
  writer_->Run(*group);
  EXPECT_EQ(order, "before operation ");
  writer_->Commit(group, [&order](bool) { order += "durable "; });
  EXPECT_EQ(order, "before operation durable after committed");
}

TEST_F(WriterTest, AUserIsExhaustedOnceTheDebitStands) {
  Open(MemoryRows::NewStore('i'));
  Start();
  Write([](Transaction& transaction) {
    transaction.tables.AddPolicy({.model = "m", .hash = "h"});
    return absl::OkStatus();
  });
  const auto debit_all = [](Transaction& transaction) {
    return transaction.ledger.Debit(transaction.tables,
                                    {.model = "m", .policy = 1, .user = "u", .events_max = 2}, 2);
  };
  rows_->commits = MemoryRows::Commits::kFail;
  Write(debit_all);
  EXPECT_FALSE(writer_->ledger().Exhausted("m", "u"));
  rows_->commits = MemoryRows::Commits::kUnanswered;
  Write(debit_all);
  EXPECT_FALSE(writer_->ledger().Exhausted("m", "u"));
  rows_->answer(absl::OkStatus());
  EXPECT_TRUE(writer_->ledger().Exhausted("m", "u"));
}

TEST_F(WriterTest, OnlyTheFirstAnswerToACommitCounts) {
  Open(MemoryRows::NewStore('i'));
  Start();
  Debit(3);
  const auto first = rows_->answer;
  first(Unavailable("changed its mind"));
  EXPECT_EQ(Events(), 3);
  rows_->commits = MemoryRows::Commits::kUnanswered;
  Debit(4);
  first(absl::OkStatus());  // an answer to the commit before is none to this one
  EXPECT_TRUE(writer_->busy());
  const auto second = rows_->answer;
  second(absl::OkStatus());
  second(absl::OkStatus());
  EXPECT_EQ(Events(), 7);
  EXPECT_THAT(heard_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kOk));
}

TEST_F(WriterTest, AStoreThatCannotBeReadAgainIsNotBuiltOn) {
  Open(MemoryRows::NewStore('i'));
  Start();
  Debit(3);
  rows_->commits = MemoryRows::Commits::kFail;
  rows_->read_error = Unavailable("gone");
  Debit(4);
  rows_->commits = MemoryRows::Commits::kStand;
  rows_->read_error = absl::OkStatus();
  Debit(5);
  EXPECT_THAT(heard_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kUnavailable,
                                  absl::StatusCode::kUnavailable));
}

TEST_F(WriterTest, ADecisionIsDrawnOnce) {
  Open(MemoryRows::NewStore('i'));
  Start();
  const auto draw = [](Transaction& transaction) {
    transaction.tables.MarkDrawn(7, absl::InfiniteFuture());
    return absl::OkStatus();
  };
  Write(draw);
  Write(draw);
  EXPECT_THAT(heard_, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kUnavailable));
}

// --------------------------------------------------------------------------------- foreign rows

class HostileRowsTest : public WriterTest {
 protected:
  // A store with a debit, an open and a drawn decision, a stream and a step of it, a kept answer.
  MemoryRows::Content Filled(char identity, const std::string& user = "u") {
    Open(MemoryRows::NewStore(identity));
    Start();
    Write([&user](Transaction& transaction) {
      Tables& tables = transaction.tables;
      const PolicyId policy = tables.AddPolicy({.model = "m", .hash = "h", .epsilon = 1});
      for (const std::uint64_t events : {2, 3}) {
        tables.Debit({.policy = policy, .user = user, .events = events});
      }
      tables.reports().Put({.number = 5, .policy = policy, .user = user, .token = "open"});
      tables.reports().Put({.number = 6, .policy = policy, .user = user, .report = "drawn"});
      tables.MarkDrawn(6, absl::InfiniteFuture());
      StreamRow stream = {.policy = policy, .user = user, .stream = std::string(16, 's')};
      tables.streams().Add(stream);
      stream.step = 1;
      tables.streams().Put(stream, SecretBytes("state"));
      tables.streams().AddStep(stream.id, {.step = 1, .number = 6, .content = "step"});
      tables.kept().Put("m", "model", "answer");
      return absl::OkStatus();
    });
    EXPECT_THAT(heard_, ElementsAre(absl::StatusCode::kOk));
    return rows_->durable;
  }
  static std::map<Record, Record>& Of(MemoryRows::Content& content, Table table) {
    return content[static_cast<std::size_t>(table)];
  }
};

TEST_F(HostileRowsTest, NoSealedOrDigestedCellCanBeChanged) {
  const MemoryRows::Content content = Filled('i');
  for (const Table table : {Table::kReports, Table::kStreams, Table::kSteps, Table::kLedger}) {
    const TableForm& form = FormOf(table);
    for (std::size_t column = 0; column < form.columns.size(); ++column) {
      const bool free =
          std::find(form.digested.begin(), form.digested.end(), column) == form.digested.end() &&
          table != Table::kLedger;
      if (free) continue;
      MemoryRows::Content altered = content;
      Cell& cell = Of(altered, table).begin()->second[column];
      if (auto* const integer = std::get_if<std::int64_t>(&cell)) {
        *integer ^= 1;
      } else {
        *std::get_if<std::string>(&cell) += "x";
      }
      EXPECT_THAT(OpenStatus(altered), StatusIs(absl::StatusCode::kDataLoss, "damaged"))
          << form.name << "." << form.columns[column].name;
    }
  }
}

TEST_F(HostileRowsTest, CellsOfAnotherKindOrNumberAreRefused) {
  const MemoryRows::Content content = Filled('i');
  for (int table = 0; table < kTables; ++table) {
    MemoryRows::Content shorter = content;
    ASSERT_FALSE(shorter[table].empty());
    shorter[table].begin()->second.pop_back();
    EXPECT_THAT(OpenStatus(shorter), StatusIs(absl::StatusCode::kDataLoss)) << table;
    MemoryRows::Content other = content;
    other[table].begin()->second.front() = 0.5;
    EXPECT_THAT(OpenStatus(other), StatusIs(absl::StatusCode::kDataLoss)) << table;
  }
}

TEST_F(HostileRowsTest, RowsOfAnotherStoreDoNotOpen) {
  const MemoryRows::Content content = Filled('i');
  MemoryRows::Content other = [this] {
    heard_.clear();
    return Filled('j');
  }();
  for (const Table table :
       {Table::kReports, Table::kStreams, Table::kSteps, Table::kKept, Table::kStore}) {
    MemoryRows::Content mixed = content;
    Of(mixed, table) = Of(other, table);
    EXPECT_FALSE(OpenStatus(mixed).ok()) << FormOf(table).name;
  }
}

TEST_F(HostileRowsTest, AMissingOrOlderLedgerIsNoticed) {
  const MemoryRows::Content content = Filled('i');
  MemoryRows::Content missing = content;
  Of(missing, Table::kLedger).erase(Of(missing, Table::kLedger).begin());
  EXPECT_THAT(OpenStatus(missing), StatusIs(absl::StatusCode::kDataLoss, "damaged or missing"));
  const StoreMark mark = writer_->tables().Mark();
  Debit(9);
  const StoreMark later = writer_->tables().Mark();
  Open(content);
  EXPECT_TRUE(IsOlder(writer_->tables().Mark(), later));
  EXPECT_FALSE(IsOlder(writer_->tables().Mark(), mark));
  Write([&later](Transaction& transaction) {
    EXPECT_EQ(transaction.tables.RecoverFromRollback(later), 1);
    return absl::OkStatus();
  });
  EXPECT_EQ(writer_->tables().lost_events(), 9);
  // An open decision may have been drawn meanwhile; a drawn one is sent as it is.
  EXPECT_THAT(writer_->tables().reports().numbers(), ElementsAre(6));
  EXPECT_EQ(writer_->tables().DrawnState(5), Drawn::kForgotten);
  // Which tokens were adopted is not known again because decisions of after that are forgotten.
  Write([](Transaction& transaction) {
    Tables& tables = transaction.tables;
    const absl::Time now = absl::FromUnixSeconds(1'000'000);
    AdoptedTokens adopted(tables);
    EXPECT_FALSE(adopted.Check("t", now, now).ok());
    tables.MarkDrawn((tables.NextRun(0) << kDecisionRunShift) + 1, now);
    tables.ForgetDrawn(now, 0, 1);
    EXPECT_FALSE(adopted.Check("t", now + absl::Minutes(59), now + absl::Hours(1)).ok());
    EXPECT_THAT(adopted.Check("t", now + absl::Hours(1), now + absl::Hours(1)), IsOk());
    return absl::OkStatus();
  });
  MemoryRows::Content endless = content;
  Of(endless, Table::kStore).begin()->second[2] = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(OpenStatus(endless), StatusIs(absl::StatusCode::kDataLoss, "number of runs"));
  Of(missing = content, Table::kStore).clear();
  EXPECT_THAT(OpenStatus(missing), StatusIs(absl::StatusCode::kDataLoss, "no identity"));
}

// -------------------------------------------------------------------------------- one interface

// Rows in SQLite and in memory are the same after random transactions.
TEST(RowsTest, SqliteAndMemoryAgree) {
  auto sqlite = *SqliteRows::Create(*OpenStoreInMemory());
  MemoryRows memory;
  std::mt19937_64 random(7);
  const auto pick = [&random](int n) { return static_cast<std::int64_t>(random() % n); };
  const auto scan = [](Rows& rows, Table table, const ScanRange& range, int limit) {
    std::vector<Record> found;
    EXPECT_THAT(rows.Scan(table, range,
                          [&](const Record& row) {
                            found.push_back(row);
                            return --limit > 0;
                          }),
                IsOk());
    return found;
  };
  for (int i = 0; i < 3000; ++i) {
    const Record step = {pick(3), pick(9)};
    Record row = step;
    row.insert(row.end(), {pick(100), std::string(pick(4), 'c'), std::string(8, 'd')});
    const Record policy = {pick(5), "m", std::to_string(i), 0.1 * i, -0.0};
    for (Rows* const rows : {static_cast<Rows*>(sqlite.get()), static_cast<Rows*>(&memory)}) {
      if (i % 3 == 0) {
        EXPECT_THAT(rows->Erase(Table::kSteps, step), IsOk());
      } else {
        EXPECT_THAT(rows->Put(Table::kSteps, row), IsOk());
      }
      EXPECT_THAT(rows->Put(Table::kPolicies, policy), IsOk());
      if (i % 7 == 3) rows->Commit([](const absl::Status& status) { EXPECT_THAT(status, IsOk()); });
      if (i % 11 == 5) rows->Rollback();
    }
    EXPECT_EQ(*sqlite->Get(Table::kSteps, step), *memory.Get(Table::kSteps, step));
    const ScanRange range = {.prefix = {pick(3)}, .after = pick(9)};
    for (const ScanRange& part : {range, ScanRange{.prefix = range.prefix}, ScanRange{}}) {
      const int limit = 1 + static_cast<int>(pick(20));
      EXPECT_EQ(scan(*sqlite, Table::kSteps, part, limit),
                scan(memory, Table::kSteps, part, limit));
    }
    EXPECT_EQ(scan(*sqlite, Table::kPolicies, {}, 9), scan(memory, Table::kPolicies, {}, 9));
  }
}

}  // namespace
}  // namespace bandana::device
