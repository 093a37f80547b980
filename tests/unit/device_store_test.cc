// The device store's file and writer: who may open it, what it survives, what one transaction is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "client/src/base/once.h"
#include "client/src/store/store.h"
#include "common/base/status.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void Spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::shared_ptr<Store> MustOpen(const std::string& path) {
  auto store = DeviceStore::Open(path);
  EXPECT_THAT(store, IsOk());
  return store.ok() ? std::static_pointer_cast<Store>(*store) : nullptr;
}

absl::Status Debit(Store& store, const std::string& user, std::uint64_t events) {
  return store.Run([&](Store::Transaction& transaction) {
    const PolicyId policy = transaction.tables.AddPolicy({0, "m", "hash", 1, 0});
    transaction.tables.Debit({.policy = policy, .user = user, .events = events});
    return absl::OkStatus();
  });
}

std::uint64_t EventsOf(Store& store, const std::string& user) {
  std::uint64_t events = 0;
  EXPECT_THAT(store.Run([&](Store::Transaction& transaction) {
    for (const auto& policy : transaction.tables.PoliciesOf("m")) {
      events += transaction.tables.Events(policy.id, user);
    }
    return absl::OkStatus();
  }),
              IsOk());
  return events;
}

ReportRow SomeReport(DecisionNumber number) {
  return {.number = number,
          .policy = 1,
          .owner = 2,
          .state = ReportState::kReady,
          .wake_at = absl::FromUnixMicros(10),
          .due_at = absl::FromUnixMicros(20),
          .user = std::string("u\0v", 3),
          .token = "token",
          .features = "",
          .report = "report bytes"};
}

// Runs SQL on the closed file, as nobody should.
void Tamper(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
}

TEST(DeviceStoreTest, KeepsWhatWasCommitted) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  std::string identity;
  DecisionNumber number = 0;
  {
    const auto store = MustOpen(path);
    identity = store->identity();
    number = store->state().NextNumber();
    EXPECT_TRUE(store->durable());
    ASSERT_THAT(Debit(*store, "u", 7), IsOk());
    ASSERT_THAT(store->Run([](Store::Transaction& transaction) {
      transaction.tables.reports().Put(SomeReport(5));
      return absl::OkStatus();
    }),
                IsOk());
  }
  const auto store = MustOpen(path);
  EXPECT_EQ(store->identity(), identity);
  EXPECT_GT(store->state().NextNumber(), number);
  EXPECT_EQ(EventsOf(*store, "u"), 7);
  std::optional<ReportRow> row;
  ASSERT_THAT(store->Run([&](Store::Transaction& transaction) {
    row = transaction.tables.reports().Find(5);
    return absl::OkStatus();
  }),
              IsOk());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->user, std::string("u\0v", 3));
  EXPECT_EQ(row->report, "report bytes");
  EXPECT_EQ(row->due_at, absl::FromUnixMicros(20));
}

TEST(DeviceStoreTest, InMemoryIsNotDurable) {
  const auto store = DeviceStore::InMemory();
  EXPECT_FALSE(store->durable());
  EXPECT_THAT(Debit(*std::static_pointer_cast<Store>(store), "u", 1), IsOk());
}

TEST(DeviceStoreTest, FileIsTheOwnersOnly) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  const auto mode = [](const std::string& file) {
    struct stat info;
    return stat(file.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
  };
  {
    const auto store = MustOpen(path);
    ASSERT_THAT(Debit(*store, "u", 1), IsOk());
    EXPECT_EQ(mode(path), 0600);
    EXPECT_EQ(mode(path + "-wal"), 0600);
  }
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  const auto store = MustOpen(path);
  EXPECT_EQ(mode(path), 0600);
}

TEST(DeviceStoreTest, OneOwnerAtATime) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  auto store = MustOpen(path);
  EXPECT_THAT(DeviceStore::Open(path),
              StatusIs(absl::StatusCode::kUnavailable, "owned by another"));
  // In another process too, also after the vain attempt in this one.
  const pid_t child = fork();
  if (child == 0) {
    _exit(DeviceStore::Open(path).status().code() == absl::StatusCode::kUnavailable ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  store.reset();
  EXPECT_THAT(DeviceStore::Open(path), IsOk());
}

TEST(DeviceStoreTest, MissingFolderIsAnIoError) {
  EXPECT_THAT(DeviceStore::Open("/nonexistent/folder/d.db"),
              StatusIs(absl::StatusCode::kUnavailable, "/nonexistent/folder/d.db"));
}

TEST(DeviceStoreTest, ForeignFilesAreRefusedAndUntouched) {
  TempDir folder;
  const std::string database = folder.File("other.db");
  Tamper(database, "CREATE TABLE t(x); INSERT INTO t VALUES (1)");
  const std::string text = folder.File("text");
  Spill(text, "not a database\n");
  const std::string empty = folder.File("empty");
  Spill(empty, "");
  for (const std::string& path : {database, text, empty}) {
    const std::string before = Slurp(path);
    EXPECT_THAT(DeviceStore::Open(path),
                StatusIs(absl::StatusCode::kDataLoss, "not a bandana device store"));
    EXPECT_EQ(Slurp(path), before) << path;
  }
  EXPECT_THAT(DeviceStore::Open(folder.path()), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(DeviceStoreTest, OtherFormatsAreRefused) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  MustOpen(path).reset();
  Tamper(path, "PRAGMA user_version=1");
  EXPECT_THAT(DeviceStore::Open(path), StatusIs(absl::StatusCode::kDataLoss, "format 1"));
  Tamper(path, "PRAGMA user_version=3; ALTER TABLE drawn RENAME TO dawn");
  EXPECT_THAT(DeviceStore::Open(path), StatusIs(absl::StatusCode::kDataLoss, "format 3"));
}

TEST(DeviceStoreTest, TornFilesAreRefusedAndUntouched) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  {
    const auto store = MustOpen(path);
    for (int i = 1; i <= 200; ++i) {
      ASSERT_THAT(store->Run([&](Store::Transaction& transaction) {
        transaction.tables.reports().Put(SomeReport(i));
        return absl::OkStatus();
      }),
                  IsOk());
    }
  }
  const std::string whole = Slurp(path);
  ASSERT_GT(whole.size(), 5 * 4096u);
  for (const std::size_t size : {whole.size() - 1, whole.size() - 4096, std::size_t{4096}}) {
    Spill(path, whole.substr(0, size));
    EXPECT_THAT(DeviceStore::Open(path), StatusIs(absl::StatusCode::kDataLoss)) << size;
    EXPECT_EQ(Slurp(path), whole.substr(0, size)) << size;
  }
}

TEST(DeviceStoreTest, FlippedBitsInRowsAreFound) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  {
    const auto store = MustOpen(path);
    ASSERT_THAT(Debit(*store, "a-rather-long-user-name", 41), IsOk());
    ASSERT_THAT(store->Run([](Store::Transaction& transaction) {
      transaction.tables.reports().Put(SomeReport(5));
      return absl::OkStatus();
    }),
                IsOk());
  }
  const std::string whole = Slurp(path);
  // The first is of a ledger row, the second of a report row, whose content is sealed.
  for (const std::string& needle :
       {std::string("a-rather-long-user-name"), std::string("u\0v", 3)}) {
    std::string damaged = whole;
    ASSERT_NE(damaged.find(needle), std::string::npos);
    damaged[damaged.find(needle) + 2] ^= 1;
    Spill(path, damaged);
    EXPECT_THAT(DeviceStore::Open(path), StatusIs(absl::StatusCode::kDataLoss, "is damaged"))
        << needle;
    EXPECT_EQ(Slurp(path), damaged);
  }
  Spill(path, whole);
  Tamper(path, "UPDATE ledger SET events = 1");
  EXPECT_THAT(DeviceStore::Open(path),
              StatusIs(absl::StatusCode::kDataLoss, "ledger entry 1 is damaged"));
}

TEST(DeviceStoreTest, FailureUndoesTheWholeTransaction) {
  const auto store = std::static_pointer_cast<Store>(DeviceStore::InMemory());
  Once<absl::Status> innocent;
  Once<absl::Status> culprit;
  // Both are queued before the writer can enter and take the first.
  store->entrance().Enter([&] {
    store->Enqueue(
        [](Store::Transaction& transaction) {
          transaction.tables.Debit({.policy = 1, .user = "u", .events = 3});
          return absl::OkStatus();
        },
        [&](absl::Status status) { innocent.Set(std::move(status)); });
    store->Enqueue(
        [](Store::Transaction& transaction) {
          transaction.tables.MarkDrawn(1, absl::InfiniteFuture());
          transaction.tables.MarkDrawn(1, absl::InfiniteFuture());  // violates the key
          return absl::OkStatus();
        },
        [&](absl::Status status) { culprit.Set(std::move(status)); });
  });
  EXPECT_THAT(culprit.Get(), StatusIs(absl::StatusCode::kUnavailable, "device store"));
  EXPECT_THAT(innocent.Get(), StatusIs(absl::StatusCode::kUnavailable, "device store"));
  ASSERT_THAT(store->Run([](Store::Transaction& transaction) {
    EXPECT_EQ(transaction.tables.Events(1, "u"), 0);
    EXPECT_EQ(transaction.tables.DrawnState(1), Drawn::kNo);
    return absl::OkStatus();
  }),
              IsOk());
}

TEST(DeviceStoreTest, RefusalIsTheOperationsOwn) {
  const auto store = std::static_pointer_cast<Store>(DeviceStore::InMemory());
  EXPECT_THAT(store->Run([](Store::Transaction& transaction) -> absl::Status {
    transaction.tables.Debit({.policy = 1, .user = "u", .events = 3});
    return FailedPrecondition("no");
  }),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no"));
  ASSERT_THAT(store->Run([](Store::Transaction& transaction) {
    EXPECT_EQ(transaction.tables.Events(1, "u"), 3);
    return absl::OkStatus();
  }),
              IsOk());
}

TEST(DeviceStoreTest, QueuedOperationsShareACommit) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  const auto store = MustOpen(path);
  // While the writer cannot enter, 50 operations queue up; then one commit takes them all: the log
  // grows by far less than 50 separate commits would make it.
  std::atomic<int> committed{0};
  std::size_t before = 0;
  store->entrance().Enter([&] {
    for (int i = 1; i <= 50; ++i) {
      store->Enqueue(
          [i](Store::Transaction& transaction) {
            transaction.tables.MarkDrawn(i, absl::InfiniteFuture());
            return absl::OkStatus();
          },
          [&](const absl::Status& status) { committed += status.ok(); });
    }
    before = Slurp(path + "-wal").size();
  });
  ASSERT_THAT(store->Run([](Store::Transaction&) { return absl::OkStatus(); }), IsOk());
  EXPECT_EQ(committed, 50);
  EXPECT_LT(Slurp(path + "-wal").size() - before, 50 * 4096u / 5);
}

TEST(DeviceStoreTest, LazyOperationsAreKeptByACleanClose) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  {
    const auto store = MustOpen(path);
    store->EnqueueLazy([](Store::Transaction& transaction) {
      transaction.tables.MarkDrawn(9, absl::InfiniteFuture());
      return absl::OkStatus();
    });
  }
  const auto store = MustOpen(path);
  ASSERT_THAT(store->Run([](Store::Transaction& transaction) {
    EXPECT_EQ(transaction.tables.DrawnState(9), Drawn::kYes);
    return absl::OkStatus();
  }),
              IsOk());
}

TEST(DeviceStoreTest, ForgetsDrawnDecisionsInOrderAndRefusesThemForEver) {
  TempDir folder;
  const std::string path = folder.File("d.db");
  const absl::Time now = absl::FromUnixSeconds(1000);
  const auto states = [](Store& store) {
    std::vector<Drawn> states;
    EXPECT_THAT(store.Run([&](Store::Transaction& transaction) {
      for (int i = 1; i <= 5; ++i) states.push_back(transaction.tables.DrawnState(i));
      return absl::OkStatus();
    }),
                IsOk());
    return states;
  };
  {
    const auto store = MustOpen(path);
    ASSERT_THAT(store->Run([&](Store::Transaction& transaction) {
      transaction.tables.MarkDrawn(1, now - absl::Seconds(1));
      transaction.tables.MarkDrawn(3, now + absl::Seconds(1));
      transaction.tables.MarkDrawn(4, now - absl::Seconds(1));
      transaction.tables.ForgetDrawn(now, 100, 10);
      return absl::OkStatus();
    }),
                IsOk());
    // 2 was never reported; 4 is old, but younger than 3, which is still remembered.
    EXPECT_THAT(states(*store), ::testing::ElementsAre(Drawn::kForgotten, Drawn::kNo, Drawn::kYes,
                                                       Drawn::kYes, Drawn::kNo));
    ASSERT_THAT(store->Run([&](Store::Transaction& transaction) {
      transaction.tables.ForgetDrawn(now, 1, 10);  // too many: the oldest goes before its time
      return absl::OkStatus();
    }),
                IsOk());
  }
  EXPECT_THAT(states(*MustOpen(path)),
              ::testing::ElementsAre(Drawn::kForgotten, Drawn::kForgotten, Drawn::kForgotten,
                                     Drawn::kForgotten, Drawn::kNo));
}

TEST(DeviceStoreTest, AdoptsWhatNoLiveOwnerHolds) {
  const auto store = std::static_pointer_cast<Store>(DeviceStore::InMemory());
  ASSERT_THAT(store->Run([](Store::Transaction& transaction) {
    Tables& tables = transaction.tables;
    const PolicyId mine = tables.AddPolicy({0, "m", "a", 1, 0});
    const PolicyId other = tables.AddPolicy({0, "n", "a", 1, 0});
    EXPECT_EQ(tables.AddPolicy({0, "m", "a", 1, 0}), mine);
    int number = 0;
    for (const OwnerId owner : {1, 2, 3}) {
      for (const PolicyId policy : {mine, other}) {
        ReportRow row = SomeReport(++number);
        row.owner = owner;
        row.policy = policy;
        row.state = owner == 1 ? ReportState::kOutbound : ReportState::kOpen;
        tables.reports().Put(row);
      }
    }
    EXPECT_EQ(tables.Adopt(9, tables.PoliciesOf("m"), {2, 9}), 2);
    EXPECT_EQ(tables.reports().Find(1)->owner, 9);
    EXPECT_EQ(tables.reports().Find(1)->state, ReportState::kReady);
    EXPECT_EQ(tables.reports().Find(3)->owner, 2);
    EXPECT_EQ(tables.reports().Find(5)->owner, 9);
    EXPECT_EQ(tables.reports().Find(5)->state, ReportState::kOpen);
    EXPECT_EQ(tables.reports().Find(2)->owner, 1);
    return absl::OkStatus();
  }),
              IsOk());
}

}  // namespace
}  // namespace bandana::device
