// Requirements on every engine for the state of a model, tested with each of them; then PostgreSQL
// when its owner changes, the network fails, or rows are damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/file.h"
#include "server/log/log_engine.h"
#include "server/log/state/state_store.h"
#include "tests/support/shared_postgres.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

namespace fs = std::filesystem;

using Rows = std::map<std::string, std::string>;

std::string LongText(std::size_t bytes, std::uint64_t seed) {
  TestRng rng(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(rng.Index(256));
  return text;
}

absl::Status Put(RowTable& table, const Rows& rows) {
  const auto source = [&](RowVisit take) -> absl::Status {
    for (const auto& [key, value] : rows) BANDANA_RETURN_IF_ERROR(take(key, value));
    return absl::OkStatus();
  };
  return table.Change({.put = RowSource(source)}).status();
}

absl::Status RemoveRows(RowTable& table, const std::vector<std::string_view>& keys,
                        bool erase = false) {
  return table.Change({.removed = keys, .erase = erase}).status();
}

Rows AllOf(RowTable& table) {
  Rows rows;
  EXPECT_THAT(table.ForEach([&](std::string_view key, std::string_view value) {
    rows[std::string(key)] = value;
    return absl::OkStatus();
  }),
              IsOk());
  return rows;
}

struct EngineKind {
  const char* name;
  bool postgresql;
  std::function<std::shared_ptr<const LogEngine>(const TempDir&)> make;
};

class StateConformanceTest : public ::testing::TestWithParam<EngineKind> {
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
    auto log = OpenLog(*engine_, folder());
    ASSERT_THAT(log, IsOk());
    log_ = *std::move(log);
    auto state = engine_->OpenState(folder(), false);
    ASSERT_THAT(state, IsOk());
    state_ = *std::move(state);
    ASSERT_THAT(state_->Own(log_->term()), IsOk());
  }
  std::unique_ptr<RowTable> TableOf(TableKind kind) {
    auto table = state_->Table(kind).open();
    EXPECT_THAT(table, IsOk());
    return *std::move(table);
  }
  std::string ReadBack(const std::string& name) {
    const auto bytes = state_->Read(name, 1 << 30);
    EXPECT_THAT(bytes, IsOk());
    return bytes.value_or("");
  }

  TempDir folder_, other_;
  std::shared_ptr<const LogEngine> engine_;
  std::unique_ptr<UpdateLog> log_;
  std::shared_ptr<StateStore> state_;
};

TEST_P(StateConformanceTest, FilesAreReadBackWholeAndInParts) {
  EXPECT_THAT(state_->Read("a", 10), StatusIs(absl::StatusCode::kNotFound));
  const std::string text = LongText((std::size_t{7} << 19) + 5, 1);  // some pages and a half
  ASSERT_THAT(state_->Write("a", text), IsOk());
  ASSERT_THAT(state_->Write("b", std::string_view()), IsOk());
  for (const bool again : {false, true}) {
    if (again) Open();
    EXPECT_TRUE(ReadBack("a") == text);
    EXPECT_EQ(ReadBack("b"), "");
    EXPECT_THAT(*state_->Has("a"), true);
    EXPECT_THAT(*state_->Has("c"), false);
    EXPECT_THAT(*state_->Files(), ::testing::IsSupersetOf({"a", "b"}));
    EXPECT_THAT(state_->Read("a", 100), StatusIs(absl::StatusCode::kResourceExhausted));
    const auto read = state_->Open("a");
    ASSERT_THAT(read, IsOk());
    TestRng rng(2);
    for (int i = 0; i < 50; ++i) {
      const std::size_t offset = rng.Index(text.size());
      std::string part(std::min<std::size_t>(rng.Index(1 << 21), text.size() - offset), '\0');
      ASSERT_THAT((*read)(offset, part), IsOk());
      EXPECT_TRUE(part == std::string_view(text).substr(offset, part.size()));
    }
    std::string beyond(2, '\0');
    EXPECT_THAT((*read)(text.size() - 1, beyond), StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(state_->Open("c"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(StateConformanceTest, AFileIsReplacedRenamedAndRemoved) {
  ASSERT_THAT(state_->Write("a", "one"), IsOk());
  ASSERT_THAT(state_->Write("a", "two"), IsOk());
  EXPECT_EQ(ReadBack("a"), "two");
  ASSERT_THAT(state_->Write("b", "three"), IsOk());
  ASSERT_THAT(state_->Rename("a", "b"), IsOk());
  EXPECT_EQ(ReadBack("b"), "two");
  EXPECT_FALSE(*state_->Has("a"));
  ASSERT_THAT(state_->Remove("b"), IsOk());
  ASSERT_THAT(state_->Remove("b"), IsOk());
  EXPECT_FALSE(*state_->Has("b"));
  EXPECT_THAT(state_->EraseRemoved(), IsOk());
}

TEST_P(StateConformanceTest, AWriteThatDoesNotEndLeavesTheFormerFile) {
  ASSERT_THAT(state_->Write("a", "before"), IsOk());
  const std::string text = LongText(std::size_t{5} << 19, 3);
  const ByteSource broken = [&](const ByteSink& sink) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(sink(text));
    return Unavailable("broken");
  };
  EXPECT_THAT(state_->Write("a", broken), StatusIs(absl::StatusCode::kUnavailable, "broken"));
  for (const bool again : {false, true}) {
    if (again) Open();
    EXPECT_EQ(ReadBack("a"), "before");
    EXPECT_THAT(state_->RemoveHalfWritten("a"), IsOk());
  }
}

TEST_P(StateConformanceTest, RowsAreThoseOfAMap) {
  for (const TableKind kind : {TableKind::kArms, TableKind::kUsers}) {
    TestRng rng(4);
    Rows reference;
    EXPECT_FALSE(*state_->Table(kind).exists());
    auto table = TableOf(kind);
    const auto key = [&] {
      std::string made(kind == TableKind::kArms ? 4 : 1 + rng.Index(20), '\0');
      for (char& c : made) c = static_cast<char>(rng.Index(4) * 60);
      return made;
    };
    for (int round = 0; round < 20; ++round) {
      Rows put;
      for (int i = 0; i < 30; ++i) put[key()] = LongText(rng.Index(100), rng.Index(1000));
      ASSERT_THAT(Put(*table, put), IsOk());
      for (const auto& [id, value] : put) reference[id] = value;
      const std::string gone = key();
      const auto removed = table->Change({.removed = std::vector<std::string_view>{gone, gone},
                                          .erase = kind == TableKind::kUsers && round == 7});
      ASSERT_THAT(removed, IsOk());
      EXPECT_EQ(removed->removed, reference.erase(gone));
      EXPECT_EQ(table->size(), reference.size());
      if (round == 10) {
        Open();
        table = TableOf(kind);
      }
    }
    EXPECT_EQ(AllOf(*table), reference);
    EXPECT_TRUE(*state_->Table(kind).exists());
    const auto middle = std::next(reference.begin(), static_cast<int>(reference.size() / 2));
    std::vector<std::string> after;
    ASSERT_THAT(table->ForEachAfter(middle->first, 3,
                                    [&](std::string_view id, auto) {
                                      after.emplace_back(id);
                                      return absl::OkStatus();
                                    }),
                IsOk());
    EXPECT_THAT(after, ElementsAre(std::next(middle, 1)->first, std::next(middle, 2)->first,
                                   std::next(middle, 3)->first));
    std::string one;
    ASSERT_THAT(table->ForOne(middle->first,
                              [&](auto, std::string_view value) {
                                one = value;
                                return absl::OkStatus();
                              }),
                IsOk());
    EXPECT_EQ(one, middle->second);
  }
}

TEST_P(StateConformanceTest, AChangeTakesPlaceAsAWholeOrNotAtAll) {
  auto table = TableOf(TableKind::kUsers);
  Sha256Digest digest{};
  digest[0] = std::byte{7};
  ASSERT_THAT(Put(*table, {{"ann", "1"}, {"bob", "2"}}), IsOk());
  const auto broken = [&](RowVisit take) -> absl::Status {
    // More than one statement may hold.
    for (int i = 0; i < 300; ++i) {
      BANDANA_RETURN_IF_ERROR(take("user " + std::to_string(i), LongText(10000, 5)));
    }
    return InvalidArgument("broken");
  };
  EXPECT_THAT(table->Change({.put = RowSource(broken),
                             .removed = std::vector<std::string_view>{"ann"},
                             .file = digest,
                             .keys = {.left = {5}, .now = absl::UnixEpoch()}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "broken"));
  for (const bool again : {false, true}) {
    if (again) {
      Open();
      table = TableOf(TableKind::kUsers);
    }
    EXPECT_EQ(table->size(), 2u);
    EXPECT_EQ(table->file(), Sha256Digest{});
    EXPECT_EQ(AllOf(*table), (Rows{{"ann", "1"}, {"bob", "2"}}));
    EXPECT_THAT(*table->LeftKeys(), IsEmpty());
  }
  const auto source = [&](RowVisit take) { return take("cid", "3"); };
  const auto changed = table->Change(
      {.put = RowSource(source), .removed = std::vector<std::string_view>{"ann"}, .file = digest});
  ASSERT_THAT(changed, IsOk());
  EXPECT_EQ(changed->added, 1u);
  EXPECT_EQ(changed->removed, 1u);
  Open();
  table = TableOf(TableKind::kUsers);
  EXPECT_EQ(table->file(), digest);
  EXPECT_EQ(AllOf(*table), (Rows{{"bob", "2"}, {"cid", "3"}}));
}

TEST_P(StateConformanceTest, LeftKeysAreKeptInTheOrderOfTheirTimes) {
  auto table = TableOf(TableKind::kArms);
  const absl::Time start = absl::FromUnixSeconds(1000);
  const std::uint64_t great = ~std::uint64_t{0} - 3;
  EXPECT_EQ(*table->FirstLeft(), std::nullopt);
  ASSERT_THAT(table->Change({.keys = {.left = {7, great}, .now = start + absl::Seconds(2)}}),
              IsOk());
  ASSERT_THAT(table->Change({.keys = {.left = {8}, .now = start + absl::Seconds(1)}}), IsOk());
  ASSERT_THAT(table->Change({.keys = {.returned = {7}, .left = {9}, .now = start}}), IsOk());
  Open();
  table = TableOf(TableKind::kArms);
  const auto keys = [&](absl::Time until, std::size_t max) {
    std::vector<std::uint64_t> found;
    const auto left = table->LeftKeys(until, max);
    EXPECT_THAT(left, IsOk());
    for (const server::LeftKey& key : *left) found.push_back(key.key);
    return found;
  };
  EXPECT_THAT(keys(absl::InfiniteFuture(), 100), ElementsAre(9, 8, great));
  EXPECT_THAT(keys(absl::InfiniteFuture(), 2), ElementsAre(9, 8));
  EXPECT_THAT(keys(start + absl::Seconds(1), 100), ElementsAre(9, 8));
  EXPECT_EQ(*table->FirstLeft(), start);
  ASSERT_THAT(table->RemoveLeft(std::vector<std::uint64_t>{9, great}, start + absl::Seconds(1)),
              IsOk());
  EXPECT_THAT(keys(absl::InfiniteFuture(), 100), ElementsAre(8, great));
}

// Who follows has the same rows, whatever is done between two looks.
TEST_P(StateConformanceTest, AFollowerHasTheRowsOfTheOwner) {
  auto table = TableOf(TableKind::kUsers);
  const auto other = engine_->OpenState(folder(), false);
  ASSERT_THAT(other, IsOk());
  auto follower = *(*other)->Table(TableKind::kUsers).open();
  std::int64_t version = 0;
  Rows followed;
  TestRng rng(6);
  std::uint64_t visited = 0;
  for (int round = 0; round < 30; ++round) {
    for (std::size_t i = rng.Index(3); i > 0; --i) {
      const std::string id = "user " + std::to_string(rng.Index(50));
      if (rng.Index(5) == 0) {
        ASSERT_THAT(RemoveRows(*table, {id}), IsOk());
      } else {
        ASSERT_THAT(Put(*table, {{id, std::to_string(round)}, {"all", "x"}}), IsOk());
      }
    }
    Rows since;
    const auto now = follower->ChangesSince(version, [&](std::string_view id, auto value) {
      since[std::string(id)] = value;
      ++visited;
      return absl::OkStatus();
    });
    ASSERT_THAT(now, IsOk());
    if (now->whole) followed.clear();
    for (const auto& [id, value] : since) followed[id] = value;
    version = now->version;
    EXPECT_EQ(followed, AllOf(*table)) << round;
    if (GetParam().postgresql) {
      EXPECT_EQ((*other)->Versions()->users, version);
    }
  }
  if (GetParam().postgresql) {
    EXPECT_EQ(version, table->version());
    EXPECT_EQ(follower->size(), table->size());
    // Nothing new, nothing visited.
    visited = 0;
    const auto now = follower->ChangesSince(version, [&](auto, auto) {
      ++visited;
      return absl::OkStatus();
    });
    EXPECT_FALSE(now->whole);
    EXPECT_EQ(visited, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Engines, StateConformanceTest,
    ::testing::Values(EngineKind{"sqlite", false,
                                 [](const TempDir&) { return server::DefaultLogEngine(); }},
                      EngineKind{"postgresql", true,
                                 [](const TempDir&) {
                                   return MakePgEngine(SettingsFor(Postgres().connection()));
                                 }},
                      EngineKind{"postgresql_sealed", true,
                                 [](const TempDir& keys) {
                                   PgSettings settings = SettingsFor(Postgres().connection());
                                   settings.key_file = KeyFile(keys);
                                   return MakePgEngine(settings);
                                 }}),
    [](const auto& info) { return info.param.name; });

class PostgresStateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    proxy_ = FaultProxy::Start(Postgres().address());
    PgSettings settings = SettingsFor(Through(*proxy_));
    settings.key_file = KeyFile(keys_);
    engine_ = MakePgEngine(settings);
    settings.connection = Postgres().connection();
    direct_ = MakePgEngine(settings);
    fs::create_directories(folder());
    ASSERT_THAT(engine_->Create(folder(), {}), IsOk());
    state_ = *engine_->OpenState(folder(), true);
    ASSERT_THAT(state_->Own(1), IsOk());
  }
  std::string folder() const { return folder_.File("m"); }
  // Whether a file of the database's tables and indexes has these bytes.
  static bool OnDisk(const std::string& bytes) {
    Postgres().Sql("CHECKPOINT");
    for (const auto& entry : fs::recursive_directory_iterator(Postgres().data() + "/base")) {
      if (!entry.is_regular_file()) continue;
      std::stringstream content;
      content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      if (content.str().find(bytes) != std::string::npos) return true;
    }
    return false;
  }

  TempDir folder_, keys_;
  std::unique_ptr<FaultProxy> proxy_;
  std::shared_ptr<const LogEngine> engine_;  // through the proxy
  std::shared_ptr<const LogEngine> direct_;
  std::shared_ptr<StateStore> state_;
};

TEST_F(PostgresStateTest, AFormerOwnerChangesNothing) {
  ASSERT_THAT(state_->Write("a", "before"), IsOk());
  auto former = *state_->Table(TableKind::kArms).open();
  ASSERT_THAT(Put(*former, {{"arm1", "before"}}), IsOk());
  const auto next = *direct_->OpenState(folder(), true);
  ASSERT_THAT(next->Own(2), IsOk());
  const auto fenced = StatusIs(absl::StatusCode::kAborted);
  EXPECT_THAT(state_->Write("a", "stale"), fenced);
  EXPECT_THAT(state_->Write("a", LongText(std::size_t{3} << 20, 1)), fenced);
  EXPECT_THAT(state_->Remove("a"), fenced);
  EXPECT_THAT(state_->RemoveHalfWritten("a"), fenced);
  EXPECT_THAT(Put(*former, {{"arm1", "stale"}}), fenced);
  EXPECT_THAT(RemoveRows(*former, {"arm1"}), fenced);
  EXPECT_THAT(state_->Own(1), fenced);
  EXPECT_EQ(*next->Read("a", 100), "before");
  EXPECT_EQ(AllOf(**next->Table(TableKind::kArms).open()), (Rows{{"arm1", "before"}}));
  // It may still read, and one that has no term at all writes nothing.
  EXPECT_EQ(*state_->Read("a", 100), "before");
  EXPECT_THAT((*direct_->OpenState(folder(), true))->Write("a", "x"), fenced);
}

// A server that freezes in the middle of a change keeps nobody waiting for long.
TEST_F(PostgresStateTest, AnOwnerThatStandsStillIsNotWaitedFor) {
  const auto next = *direct_->OpenState(folder(), true);
  auto former = *state_->Table(TableKind::kArms).open();
  const auto frozen = [&](RowVisit) {
    absl::Status taken = absl::UnavailableError("");
    for (int i = 0; i < 5 && absl::IsUnavailable(taken); ++i) taken = next->Own(2);
    return taken;
  };
  EXPECT_THAT(former->Change({.put = RowSource(frozen)}), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(next->Write("a", "x"), IsOk());
}

// A connection that is lost at any point of a change: it took place or not, and a repeat is safe.
TEST_F(PostgresStateTest, WhatBecameOfAChangeIsFoundOut) {
  using Mode = FaultProxy::Mode;
  auto table = *state_->Table(TableKind::kUsers).open();
  int number = 0;
  for (const Mode mode : {Mode::kDeaf, Mode::kBlackHole, Mode::kRefuse, Mode::kPass}) {
    SCOPED_TRACE(static_cast<int>(mode));
    const std::string value = std::to_string(++number);
    proxy_->Set(mode);
    if (mode == Mode::kPass) proxy_->Cut();
    const absl::Status written = state_->Write("a", value);
    const absl::Status put = Put(*table, {{"u", value}});
    const auto may_pass = [](const absl::Status& status) {
      EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    };
    may_pass(written);
    may_pass(put);
    proxy_->Set(Mode::kPass);
    proxy_->Cut();
    absl::Status again = absl::UnavailableError("");
    for (int i = 0; i < 20 && !again.ok(); ++i) again = state_->Write("a", value);
    ASSERT_THAT(again, IsOk());
    again = absl::UnavailableError("");
    for (int i = 0; i < 20 && !again.ok(); ++i) again = Put(*table, {{"u", value}});
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(*state_->Read("a", 100), value);
    EXPECT_EQ(AllOf(*table), (Rows{{"u", value}}));
    EXPECT_EQ(table->size(), 1u);
  }
}

TEST_F(PostgresStateTest, PagesOfAWriteThatDidNotEndAreSweptOut) {
  const std::string text = LongText(std::size_t{3} << 20, 8);
  const ByteSource broken = [&](const ByteSink& sink) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(sink(text));
    return Unavailable("broken");
  };
  ASSERT_THAT(state_->Write("a", text), IsOk());
  const int whole = Postgres().Count("bandana.state_pages");
  EXPECT_THAT(state_->Write("a", broken), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GT(Postgres().Count("bandana.state_pages"), whole);
  ASSERT_THAT(state_->RemoveHalfWritten("a"), IsOk());
  EXPECT_EQ(Postgres().Count("bandana.state_pages"), whole);
  ASSERT_THAT(state_->Write("a", "short"), IsOk());
  EXPECT_EQ(Postgres().Count("bandana.state_pages"), whole - 2);
  EXPECT_EQ(Postgres().Count("bandana.state_pages WHERE length(page) > 1100000"), 0);
  ASSERT_THAT(engine_->Remove(folder()), IsOk());
  EXPECT_EQ(Postgres().Count("bandana.state_pages"), whole - 3);
}

TEST_F(PostgresStateTest, DamageIsFound) {
  ASSERT_THAT(state_->Write("a", LongText(3000, 9)), IsOk());
  ASSERT_THAT(state_->Write("b", LongText(std::size_t{3} << 20, 9)), IsOk());
  auto table = *state_->Table(TableKind::kUsers).open();
  ASSERT_THAT(Put(*table, {{"damaged user", "1"}, {"u2", "2"}}), IsOk());
  Postgres().Sql(
      "UPDATE bandana.state_pages SET page = set_byte(page, 77, get_byte(page, 77) # 1)"
      " WHERE (log, content) IN (SELECT log, content FROM bandana.state_files"
      "   WHERE name = 'a' AND bytes = 3000)");
  EXPECT_THAT(state_->Read("a", 1 << 30), StatusIs(absl::StatusCode::kDataLoss, "a in Postgre"));
  Postgres().Sql(
      "DELETE FROM bandana.state_pages WHERE number = 1 AND (log, content) IN"
      " (SELECT log, content FROM bandana.state_files WHERE name = 'b')");
  EXPECT_THAT(state_->Read("b", 1 << 30), StatusIs(absl::StatusCode::kDataLoss, "b in Postgre"));
  Postgres().Sql("DELETE FROM bandana.users WHERE key = 'damaged user'");
  EXPECT_THAT(table->ForEach([](auto, auto) { return absl::OkStatus(); }),
              StatusIs(absl::StatusCode::kDataLoss, "1 users found, another number stored"));
}

TEST_F(PostgresStateTest, NothingIsLeftOfARemovedUser) {
  auto table = *state_->Table(TableKind::kUsers).open();
  const std::string id = "a-user-who-shall-be-forgotten";
  ASSERT_THAT(Put(*table, {{id, "groups of " + id}, {"another", "who stays"}}), IsOk());
  EXPECT_TRUE(OnDisk(id));
  ASSERT_THAT(RemoveRows(*table, {id}, /*erase=*/true), IsOk());
  EXPECT_FALSE(OnDisk(id));
  EXPECT_TRUE(OnDisk("who stays"));
}

TEST_F(PostgresStateTest, SealedFilesShowNothingAndOpenUnderTheirKeyAlone) {
  const std::string secret = "a sum of rewards that nobody may read";
  ASSERT_THAT(state_->Write("a", secret), IsOk());
  EXPECT_FALSE(OnDisk(secret));
  PgSettings settings = SettingsFor(Postgres().connection());
  const auto plain = MakePgEngine(settings);
  EXPECT_THAT(plain->OpenState(folder(), true),
              StatusIs(absl::StatusCode::kFailedPrecondition, "log.postgresql.key_file"));
  EXPECT_THAT((*plain->OpenState(folder(), false))->Read("a", 100),
              StatusIs(absl::StatusCode::kFailedPrecondition, "log.postgresql.key_file"));
  settings.key_file = KeyFile(keys_, 'b');
  EXPECT_THAT((*MakePgEngine(settings)->OpenState(folder(), true))->Read("a", 100),
              StatusIs(absl::StatusCode::kFailedPrecondition, "log.postgresql.key_file"));
}

TEST_F(PostgresStateTest, AnotherServerFindsModelsByName) {
  const TempDir elsewhere;
  const std::string copy = elsewhere.File("m");
  fs::create_directories(copy);
  EXPECT_FALSE(*direct_->Adopt(copy));
  EXPECT_THAT(direct_->OpenState(copy, false), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(state_->Write(server::kConfigFile, "c"), IsOk());
  ASSERT_THAT(engine_->Publish(folder(), false), IsOk());
  ASSERT_THAT(engine_->Publish(folder(), false), IsOk());
  ASSERT_TRUE(*direct_->Adopt(copy));
  EXPECT_EQ(*(*direct_->OpenState(copy, true))->Read(server::kConfigFile, 10), "c");
  const auto models = *direct_->Models();
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].name, "m");
  EXPECT_TRUE(models[0].made_at_run_time);
  EXPECT_EQ(models[0].versions, *state_->Versions());
  // A second model of the name.
  const TempDir third;
  const std::string rival = third.File("m");
  fs::create_directories(rival);
  ASSERT_THAT(direct_->Create(rival, {}), IsOk());
  ASSERT_THAT(direct_->OpenState(rival, false), IsOk());
  EXPECT_THAT(direct_->Publish(rival, false), StatusIs(absl::StatusCode::kAlreadyExists));
  ASSERT_THAT(direct_->Publish(rival, true), IsOk());
  EXPECT_NE((*direct_->Models())[0].log, models[0].log);
  ASSERT_THAT(direct_->Withdraw(rival), IsOk());
  EXPECT_THAT(*direct_->Models(), IsEmpty());
  // Its rows go with the log; the folder then says of a log that is gone.
  ASSERT_THAT(engine_->Remove(folder()), IsOk());
  EXPECT_THAT(direct_->OpenState(copy, false), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(PostgresStateTest, SharedFilesAreReplacedByWhoKnowsThem) {
  const auto one = *engine_->Shared();
  const auto two = *direct_->Shared();
  EXPECT_THAT(one->Read("keys"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(*one->Version("keys"), 0);
  const std::string secret = "thirty-two bytes that seal tokens";
  const auto first = one->Replace("keys", 0, secret, true);
  ASSERT_THAT(first, IsOk());
  EXPECT_FALSE(OnDisk(secret));
  EXPECT_THAT(two->Replace("keys", 0, "other", true), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(two->Read("keys")->content, secret);
  EXPECT_EQ(*two->Version("keys"), *first);
  const auto second = two->Replace("keys", *first, "next", true);
  ASSERT_THAT(second, IsOk());
  EXPECT_NE(*second, *first);
  EXPECT_THAT(one->Replace("keys", *first, "stale", true), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(one->Read("keys")->content, "next");
  PgSettings settings = SettingsFor(Postgres().connection());
  const auto plain = *MakePgEngine(settings)->Shared();
  EXPECT_THAT(plain->Read("keys"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(plain->Replace("others", 0, "x", true),
              StatusIs(absl::StatusCode::kFailedPrecondition, "log.postgresql.key_file"));
  ASSERT_THAT(plain->Replace("others", 0, "x", false), IsOk());
}

}  // namespace
}  // namespace bandana::server
