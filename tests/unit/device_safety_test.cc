// The device store notices an edited ledger, an older copy of itself, another's anchor, a missing
// one, another key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "client/src/store/key_sealer.h"
#include "client/src/store/store.h"
#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

const std::string kKey(32, 'k');

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void Spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class DeviceSafetyTest : public ::testing::Test {
 protected:
  std::shared_ptr<Store> MustOpen(const std::string& key = "") {
    auto store = DeviceStore::Open(path_, {.key = key});
    EXPECT_THAT(store, IsOk());
    return store.ok() ? std::static_pointer_cast<Store>(*store) : nullptr;
  }
  absl::StatusCode CodeOfOpen(const std::string& key = "") {
    return DeviceStore::Open(path_, {.key = key}).status().code();
  }
  static void Debit(Store& store, const std::string& user, std::uint64_t events) {
    ASSERT_THAT(store.Run([&](Store::Transaction& transaction) {
      const PolicyId policy = transaction.tables.AddPolicy({0, "m", "hash", 1, 0});
      transaction.tables.Debit({.policy = policy, .user = user, .events = events, .cost = events});
      return absl::OkStatus();
    }),
                IsOk());
  }
  static ReportRow SomeReport(DecisionNumber number) {
    return {.number = number, .policy = 1, .user = "u", .token = "a token", .report = "a report"};
  }
  static void Put(Store& store, const ReportRow& row) {
    ASSERT_THAT(store.Run([&](Store::Transaction& transaction) {
      transaction.tables.reports().Put(row);
      return absl::OkStatus();
    }),
                IsOk());
  }
  // Runs SQL on the closed file, as nobody should.
  void Tamper(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  template <typename Read>
  static void With(Store& store, Read read) {
    ASSERT_THAT(store.Run([&](Store::Transaction& transaction) {
      read(transaction.tables);
      return absl::OkStatus();
    }),
                IsOk());
  }

  testing::TempDir folder_;
  const std::string path_ = folder_.File("d.db");
  const std::string anchor_ = Anchor::PathOf(path_);
};

// ------------------------------------------------------------------------------------ the ledger

TEST_F(DeviceSafetyTest, NoEntryOfTheLedgerCanBeChangedRemovedOrAdded) {
  {
    const auto store = MustOpen();
    for (int i = 0; i < 5; ++i) Debit(*store, "u", 1);
  }
  const std::string whole = Slurp(path_);
  for (const char* sql : {
           "UPDATE ledger SET events = 0 WHERE sequence = 3",
           "UPDATE ledger SET user = x'76' WHERE sequence = 5",
           "UPDATE ledger SET cost = 0",
           "DELETE FROM ledger WHERE sequence = 1",
           "DELETE FROM ledger WHERE sequence = 3",
           "UPDATE ledger SET sequence = 7 WHERE sequence = 5",
           "INSERT INTO ledger SELECT 6, policy, user, epoch, stream, events, streams, cost, hash "
           "FROM ledger WHERE sequence = 5",
           "UPDATE store SET ledger_base_hash = x'00'",
       }) {
    Spill(path_, whole);
    Tamper(sql);
    EXPECT_THAT(DeviceStore::Open(path_), StatusIs(absl::StatusCode::kDataLoss, "ledger entry"))
        << sql;
  }
}

TEST_F(DeviceSafetyTest, ALedgerCutAtItsEndIsOlderThanItsAnchor) {
  {
    const auto store = MustOpen();
    for (int i = 0; i < 5; ++i) Debit(*store, "u", 10);
  }
  Tamper("DELETE FROM ledger WHERE sequence = 5");
  const auto store = MustOpen();
  EXPECT_TRUE(store->rolled_back());
  With(*store, [](Tables& tables) { EXPECT_EQ(tables.lost_events(), 10); });
}

TEST_F(DeviceSafetyTest, SummarizedLedgerKeepsBalancesAndChain) {
  auto store = MustOpen();
  for (int i = 0; i < 4; ++i) Debit(*store, i % 2 ? "u" : "v", 3 + i);
  With(*store, [](Tables& tables) {
    tables.Debit({.policy = 1, .user = "u", .stream = "s", .streams = 1, .cost = 77});
    tables.ledger().Summarize();
    EXPECT_EQ(tables.ledger().entries(), 3);
  });
  store.reset();
  store = MustOpen();
  With(*store, [](Tables& tables) {
    EXPECT_EQ(tables.Events(1, "u"), 4 + 6);
    EXPECT_EQ(tables.Events(1, "v"), 3 + 5);
    EXPECT_EQ(tables.ledger().Of(1, "u").epsilon_cost, 10);
    EXPECT_EQ(tables.ledger().Of(1, "u").streams, 1);
    EXPECT_EQ(tables.ledger().Of(1, "u").rho_cost, 77);
  });
}

TEST_F(DeviceSafetyTest, CostsSaturateInsteadOfWrapping) {
  const auto store = std::static_pointer_cast<Store>(DeviceStore::InMemory());
  With(*store, [](Tables& tables) {
    for (int i = 0; i < 3; ++i) {
      tables.Debit({.policy = 1, .user = "u", .events = 1, .cost = ~std::uint64_t{0}});
    }
    EXPECT_EQ(tables.ledger().Of(1, "u").epsilon_cost, (std::uint64_t{1} << 63) - 1);
    EXPECT_EQ(tables.ledger().Of(1, "u").events, 3);
  });
}

// ----------------------------------------------------------------------------------- the streams

TEST_F(DeviceSafetyTest, StreamsAndStepsThatWereChangedAreRefused) {
  for (const std::string& key : {std::string(), kKey}) {
    {
      const auto store = MustOpen(key);
      With(*store, [](Tables& tables) {
        for (const char* name : {"stream 1", "stream 2"}) {
          StreamRow row = {.policy = 1, .user = "u", .epoch = 1, .stream = name};
          tables.streams().Add(row);
          row.step = 1;
          tables.streams().Put(row, SecretBytes("state of " + row.stream));
          tables.streams().AddStep(row.id, {.step = 1, .number = 5, .content = "content"});
        }
      });
    }
    const std::string whole = Slurp(path_);
    EXPECT_EQ(whole.find("state of"), std::string::npos);
    for (const char* sql : {
             "UPDATE streams SET step = 2 WHERE id = 1",
             "UPDATE streams SET end = 1 WHERE id = 1",
             "UPDATE streams SET user = x'76' WHERE id = 1",
             "UPDATE streams SET state = (SELECT state FROM streams WHERE id = 2) WHERE id = 1",
             "UPDATE steps SET content = x'00' WHERE stream = 1",
             "UPDATE steps SET number = 6 WHERE stream = 1",
             "UPDATE steps SET step = 2 WHERE stream = 1",
         }) {
      Spill(path_, whole);
      Tamper(sql);
      EXPECT_THAT(DeviceStore::Open(path_, {.key = key}),
                  StatusIs(absl::StatusCode::kDataLoss, "row is damaged"))
          << sql;
    }
    Spill(path_, whole);
    MustOpen(key).reset();
    ASSERT_EQ(unlink(path_.c_str()), 0);
    ASSERT_EQ(unlink(anchor_.c_str()), 0);
  }
}

TEST_F(DeviceSafetyTest, AnEndedStreamHasNoState) {
  const auto store = MustOpen();
  With(*store, [](Tables& tables) {
    StreamRow row = {.policy = 1, .user = "u", .epoch = 1, .stream = "stream 1"};
    tables.streams().Add(row);
    row.step = 1;
    tables.streams().Put(row, SecretBytes("state"));
    EXPECT_EQ(tables.streams().State(row)->get(), "state");
    tables.streams().End(row, StreamEnd::kForked);
    const auto ended = tables.streams().Find(row.id);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->end, StreamEnd::kForked);
    EXPECT_EQ(tables.streams().State(*ended)->get(), "");
  });
}

// ----------------------------------------------------------------------------------- the anchor

TEST_F(DeviceSafetyTest, AnOlderCopyIsNoticedAndChargedToEveryUser) {
  auto store = MustOpen();
  Debit(*store, "u", 5);
  Put(*store, SomeReport(11));  // open
  With(*store, [](Tables& tables) {
    tables.reports().Put(SomeReport(12));
    tables.MarkDrawn(12, absl::InfiniteFuture());
  });
  store.reset();
  const std::string copy = Slurp(path_);
  store = MustOpen();
  Debit(*store, "v", 7);
  const DecisionNumber number = store->state().NextNumber();
  store.reset();
  Spill(path_, copy);

  store = MustOpen();
  EXPECT_TRUE(store->rolled_back());
  EXPECT_GT(store->state().NextNumber(), number);
  With(*store, [&](Tables& tables) {
    EXPECT_EQ(tables.lost_events(), 7);
    // Whatever was decided before can no longer be drawn, and what was drawn is still sent.
    EXPECT_EQ(tables.DrawnState(number), Drawn::kForgotten);
    EXPECT_EQ(tables.reports().Find(11), std::nullopt);
    EXPECT_NE(tables.reports().Find(12), std::nullopt);
  });
  // Users are charged what the copy cannot know of, whoever they are.
  With(*store, [](Tables& tables) {
    Ledger ledger;
    EXPECT_THAT(ledger.Debit(tables, {"m", 1, "w", 7, 0}, 1),
                StatusIs(absl::StatusCode::kFailedPrecondition, "used up"));
    EXPECT_THAT(ledger.Debit(tables, {"m", 1, "w", 8, 0}, 1), IsOk());
  });
  store.reset();
  EXPECT_FALSE(MustOpen()->rolled_back());  // it was dealt with
}

TEST_F(DeviceSafetyTest, AFileThatMovedOnAloneIsNotOlder) {
  auto store = MustOpen();
  Debit(*store, "u", 5);
  store.reset();
  const std::string before = Slurp(anchor_);
  store = MustOpen();
  Debit(*store, "u", 5);
  store.reset();
  Spill(anchor_, before);  // a power cut took the anchor's last writes
  EXPECT_FALSE(MustOpen()->rolled_back());
}

TEST_F(DeviceSafetyTest, AnchorMissingForeignOrDamagedIsRefused) {
  Debit(*MustOpen(), "u", 5);
  const std::string anchor = Slurp(anchor_);
  ASSERT_EQ(unlink(anchor_.c_str()), 0);
  EXPECT_THAT(DeviceStore::Open(path_),
              StatusIs(absl::StatusCode::kDataLoss, "may be an older copy of itself"));
  Spill(anchor_, std::string(1024, 'x'));
  EXPECT_EQ(CodeOfOpen(), absl::StatusCode::kDataLoss);
  Spill(anchor_, "");
  EXPECT_EQ(CodeOfOpen(), absl::StatusCode::kDataLoss);
  const std::string other = folder_.File("other.db");
  DeviceStore::Open(other)->reset();
  Spill(anchor_, Slurp(Anchor::PathOf(other)));
  EXPECT_THAT(DeviceStore::Open(path_),
              StatusIs(absl::StatusCode::kDataLoss, "is of another store"));
  // One damaged slot is a torn write: the other is at most one transaction older.
  for (const std::size_t slot : {0, 512}) {
    std::string torn = anchor;
    torn[slot + 30] ^= 1;
    Spill(anchor_, torn);
    EXPECT_EQ(CodeOfOpen(), absl::StatusCode::kOk) << slot;
    Spill(anchor_, anchor);
  }
}

TEST_F(DeviceSafetyTest, AVanishedFileIsNotReplacedInSilence) {
  Debit(*MustOpen(), "u", 5);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_THAT(DeviceStore::Open(path_), StatusIs(absl::StatusCode::kDataLoss, "is gone"));
  ASSERT_EQ(unlink(anchor_.c_str()), 0);
  EXPECT_FALSE(MustOpen()->rolled_back());
}

TEST_F(DeviceSafetyTest, AnchorIsTheOwnersOnly) {
  MustOpen();
  struct stat info;
  ASSERT_EQ(stat(anchor_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
}

// -------------------------------------------------------------------------------------- the key

TEST_F(DeviceSafetyTest, KeyIsAskedForAndNoOtherOpens) {
  Debit(*MustOpen(kKey), "u", 1);
  EXPECT_THAT(DeviceStore::Open(path_), StatusIs(absl::StatusCode::kFailedPrecondition, "sealed"));
  EXPECT_THAT(DeviceStore::Open(path_, {.key = std::string(32, 'l')}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "not the one it was sealed with"));
  EXPECT_THAT(DeviceStore::Open(path_, {.key = "short"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "32 bytes, got 5"));
  MustOpen(kKey);
}

TEST_F(DeviceSafetyTest, StoreWithoutKeyRefusesOne) {
  MustOpen();
  EXPECT_THAT(DeviceStore::Open(path_, {.key = kKey}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "made without a key"));
}

TEST_F(DeviceSafetyTest, SealedReportsAreNotInTheFileAndComeBack) {
  {
    const auto store = MustOpen(kKey);
    Put(*store, SomeReport(11));
  }
  const std::string file = Slurp(path_);
  EXPECT_EQ(file.find("a token"), std::string::npos);
  EXPECT_EQ(file.find("a report"), std::string::npos);
  const auto store = MustOpen(kKey);
  With(*store, [](Tables& tables) {
    const auto row = tables.reports().Find(11);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->token, "a token");
    EXPECT_EQ(row->report, "a report");
  });
}

TEST_F(DeviceSafetyTest, SealedBytesOpenInTheirOwnRowAndStoreOnly) {
  const auto sealer = *KeySealer::Create(kKey, "identity of 16 b");
  const std::string sealed = *sealer->Seal("row 1", "secret");
  EXPECT_THAT(sealer->Open("row 1", sealed), IsOkAndHolds("secret"));
  EXPECT_NE(*sealer->Seal("row 1", "secret"), sealed);  // a fresh nonce
  EXPECT_THAT(sealer->Open("row 2", sealed), StatusIs(absl::StatusCode::kDataLoss));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string flipped = sealed;
    flipped[i] ^= 1;
    EXPECT_THAT(sealer->Open("row 1", flipped), StatusIs(absl::StatusCode::kDataLoss)) << i;
    EXPECT_THAT(sealer->Open("row 1", sealed.substr(0, i)), StatusIs(absl::StatusCode::kDataLoss));
  }
  const auto other_store = *KeySealer::Create(kKey, "identity of 17 b");
  EXPECT_THAT(other_store->Open("row 1", sealed), StatusIs(absl::StatusCode::kDataLoss));
  const auto other_key = *KeySealer::Create(std::string(32, 'l'), "identity of 16 b");
  EXPECT_THAT(other_key->Open("row 1", sealed), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(DeviceSafetyTest, SealsAnEmptyText) {
  const auto sealer = *KeySealer::Create(kKey, "identity of 16 b");
  EXPECT_THAT(sealer->Open("row", *sealer->Seal("row", "")), IsOkAndHolds(""));
}

}  // namespace
}  // namespace bandana::device
