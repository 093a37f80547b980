// Who is in which groups: the table of users, its file, friends, limits.
#include "server/models/users/user_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "server/models/users/group_values.h"
#include "server/models/users/known_users.h"
#include "server/models/users/user_copy.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using Groups = std::map<std::string, std::string>;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotNow = absl::StatusCode::kFailedPrecondition;

v1::User UserOf(const std::string& id, const Groups& groups,
                const std::vector<std::string>& friends = {}) {
  v1::User user;
  user.set_id(id);
  for (const auto& [name, value] : groups) (*user.mutable_groups())[name] = value;
  user.mutable_friends()->Assign(friends.begin(), friends.end());
  return user;
}

std::string Encoded(UserTable& table) {
  std::string bytes;
  EXPECT_THAT(table.Encode([&](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  }),
              IsOk());
  return bytes;
}

server::TablePlace TableAt(const std::string& path) {
  return server::SqliteTableAt(server::TableKind::kUsers, path);
}

class UserTableTest : public ::testing::Test {
 protected:
  UserTableTest() {
    spec_.public_spec.name = "m";
    spec_.config.mutable_effects();
    spec_.effects.emplace();
    spec_.effects->user_groups = {"country", "plan"};
    spec_.effects->users_max = 1000;
  }

  std::string path() const { return folder_.File("users.sqlite"); }
  absl::StatusOr<std::unique_ptr<UserTable>> Open() const {
    return UserTable::Open(spec_, path(), seen_);
  }

  absl::Status Put(UserTable& table, const std::vector<v1::User>& users) {
    auto batch = table.NewBatch();
    if (!batch.ok()) return batch.status();
    for (const v1::User& user : users) {
      const absl::Status added = batch->Add(user);
      if (!added.ok()) return added;
    }
    return table.Put(*batch, &response_);
  }
  static std::vector<EffectKey> Parts(const UserTable& table, const std::string& user) {
    std::vector<EffectKey> parts = {99};
    table.Parts(user, parts);
    return parts;
  }
  static std::vector<EffectKey> PartsOf(const std::string& user, const std::string& country,
                                        const std::string& plan) {
    return {UserKey(user), country.empty() ? kAbsent : GroupKey("country", country),
            plan.empty() ? kAbsent : GroupKey("plan", plan)};
  }
  static v1::UserGroupsStats Stats(const UserTable& table) {
    v1::GetStatsResponse stats;
    table.FillStats(stats);
    return stats.user_groups();
  }

  UserIndex seen_;  // of no user: these models have effects
  TempDir folder_;
  ModelSpec spec_;
  v1::PutUsersResponse response_;
};

TEST_F(UserTableTest, KeepsGroupsOverAStart) {
  auto table = *Open();
  ASSERT_THAT(
      Put(*table, {UserOf("ann", {{"country", "de"}, {"plan", "free"}}), UserOf("bob", {})}),
      IsOk());
  EXPECT_EQ(response_.added(), 2);
  EXPECT_EQ(response_.replaced(), 0);
  EXPECT_EQ(response_.users(), 2);
  ASSERT_THAT(Put(*table, {UserOf("bob", {{"plan", "free"}}), UserOf("cyd", {{"country", "fr"}})}),
              IsOk());
  EXPECT_EQ(response_.added(), 1);
  EXPECT_EQ(response_.replaced(), 1);
  EXPECT_EQ(response_.users(), 3);
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(Parts(*table, "ann"), PartsOf("ann", "de", "free"));
    EXPECT_EQ(Parts(*table, "bob"), PartsOf("bob", "", "free"));
    EXPECT_EQ(Parts(*table, "cyd"), PartsOf("cyd", "fr", ""));
    table.reset();
    table = *Open();
  }
}

TEST_F(UserTableTest, ServesUnknownUsersWithoutGroupsAndCountsThem) {
  const auto table = *Open();
  ASSERT_THAT(Put(*table, {UserOf("ann", {})}), IsOk());
  EXPECT_EQ(Parts(*table, "nobody"), PartsOf("nobody", "", ""));
  EXPECT_EQ(Parts(*table, "ann"), PartsOf("ann", "", ""));
  EXPECT_EQ(Stats(*table).decisions_without_groups(), 1);
  EXPECT_EQ(Stats(*table).users(), 1);
}

TEST_F(UserTableTest, AReplacedUserLeavesTheFormerGroups) {
  const auto table = *Open();
  ASSERT_THAT(Put(*table, {UserOf("ann", {{"country", "de"}, {"plan", "free"}}),
                           UserOf("bob", {{"country", "de"}})}),
              IsOk());
  EXPECT_EQ(Stats(*table).values().at("country"), 1);
  ASSERT_THAT(Put(*table, {UserOf("ann", {{"country", "fr"}})}), IsOk());
  EXPECT_EQ(Parts(*table, "ann"), PartsOf("ann", "fr", ""));
  EXPECT_EQ(Stats(*table).values().at("country"), 2);
  EXPECT_EQ(Stats(*table).values().at("plan"), 0);
}

TEST_F(UserTableTest, FriendsSayWhichGroups) {
  const auto table = *Open();
  ASSERT_THAT(Put(*table, {UserOf("a", {{"country", "de"}, {"plan", "gold"}}),
                           UserOf("b", {{"country", "fr"}, {"plan", "free"}}),
                           UserOf("c", {{"country", "fr"}}), UserOf("d", {{"country", "at"}})}),
              IsOk());
  const auto join = [&](const std::string& id, const Groups& groups,
                        const std::vector<std::string>& friends) {
    EXPECT_THAT(Put(*table, {UserOf(id, groups, friends)}), IsOk());
    return Parts(*table, id);
  };
  // A majority; of equal ones the least value.
  EXPECT_EQ(join("m", {}, {"a", "b", "c"}), PartsOf("m", "fr", "free"));
  EXPECT_EQ(join("t", {}, {"a", "b"}), PartsOf("t", "de", "free"));
  EXPECT_EQ(join("u", {}, {"d", "a", "b"}), PartsOf("u", "at", "free"));
  // A friend counts once, one who is not known not at all, and own values stand.
  EXPECT_EQ(join("n", {}, {"a", "d", "a", "a", "x", "y"}), PartsOf("n", "at", "gold"));
  EXPECT_EQ(join("o", {{"country", "ch"}}, {"b", "c"}), PartsOf("o", "ch", "free"));
  EXPECT_EQ(join("p", {}, {"c", "d"}), PartsOf("p", "at", ""));
  EXPECT_EQ(join("q", {}, {"x"}), PartsOf("q", "", ""));
  // Nobody is a friend of oneself, and only users known before the call are friends.
  EXPECT_EQ(join("o", {}, {"o"}), PartsOf("o", "", ""));
  ASSERT_THAT(Put(*table, {UserOf("r", {{"plan", "new"}}), UserOf("s", {}, {"r"})}), IsOk());
  EXPECT_EQ(Parts(*table, "s"), PartsOf("s", "", ""));
  // Friends are used once: what they do later changes nothing, also after a start.
  ASSERT_THAT(Put(*table, {UserOf("b", {{"country", "it"}}), UserOf("c", {{"country", "it"}})}),
              IsOk());
  EXPECT_EQ(Parts(*table, "m"), PartsOf("m", "fr", "free"));
}

TEST_F(UserTableTest, RefusesWhatNoUserMayHaveAndNamesNoId) {
  const auto table = *Open();
  const std::string secret = "secret-id";
  const struct {
    std::vector<v1::User> users;
    std::string message;
  } kRows[] = {
      {{UserOf("a", {}), UserOf("", {})}, "users[1].id: must have 1 to 128 bytes, got 0"},
      {{UserOf(std::string(129, 'x'), {})}, "users[0].id: must have 1 to 128 bytes, got 129"},
      {{UserOf(secret, {}), UserOf(secret, {})}, "users[1].id: is there twice in this call"},
      {{UserOf(secret, {{"city", "x"}})}, "users[0].groups: has a name that is not one of"},
      {{UserOf(secret, {{"plan", ""}})}, "users[0].groups[plan]: the value of a group must have 1"},
      {{UserOf(secret, {{"plan", std::string(65, 'v')}})}, "got 65"},
      {{UserOf(secret, {{"plan", "a\tb"}})}, "without control characters"},
      {{UserOf(secret, {{"plan", "a\nb"}})}, "without control characters"},
      {{UserOf(secret, {}, {"ok", ""})}, "users[0].friends: must have 1 to 128 bytes, got 0"},
      {{UserOf(secret, {}, std::vector<std::string>(10'001, "f"))}, "at most 10000, got 10001"},
  };
  for (const auto& row : kRows) {
    const absl::Status put = Put(*table, row.users);
    EXPECT_THAT(put, StatusIs(kInvalid, row.message));
    EXPECT_THAT(std::string(put.message()), Not(HasSubstr(secret)));
  }
  EXPECT_EQ(Stats(*table).users(), 0);
}

TEST_F(UserTableTest, HoldsNoMoreThanUsersMax) {
  spec_.effects->users_max = 2;
  const auto table = *Open();
  ASSERT_THAT(Put(*table, {UserOf("a", {}), UserOf("b", {})}), IsOk());
  EXPECT_THAT(Put(*table, {UserOf("a", {}), UserOf("c", {})}),
              StatusIs(kNotNow, "2 users are kept and would be of 3, users_max is 2"));
  EXPECT_THAT(Put(*table, {UserOf("b", {{"plan", "x"}})}), IsOk());
  // A smaller limit keeps those who are there.
  spec_.effects->users_max = 1;
  const auto again = *Open();
  EXPECT_EQ(Parts(*again, "b"), PartsOf("b", "", "x"));
  EXPECT_THAT(Put(*again, {UserOf("b", {})}), IsOk());
  EXPECT_THAT(Put(*again, {UserOf("c", {})}), StatusIs(kNotNow, "users_max"));
}

TEST_F(UserTableTest, WarnsOnceNearItsLimit) {
  spec_.effects->users_max = 10;
  std::vector<std::string> warnings;
  const auto table = *UserTable::Open(
      spec_, path(), seen_, [&](const std::string& warning) { warnings.push_back(warning); });
  for (int i = 0; i < 8; ++i) ASSERT_THAT(Put(*table, {UserOf(absl::StrCat(i), {})}), IsOk());
  EXPECT_THAT(warnings, ElementsAre());
  for (int i = 8; i < 10; ++i) ASSERT_THAT(Put(*table, {UserOf(absl::StrCat(i), {})}), IsOk());
  EXPECT_THAT(warnings, ElementsAre("users: the groups of 9 are kept, users_max is 10"));
}

TEST_F(UserTableTest, RemovesUsers) {
  auto table = *Open();
  ASSERT_THAT(Put(*table, {UserOf("ann", {{"country", "de"}, {"plan", "free"}}),
                           UserOf("bob", {{"country", "de"}}), UserOf("cyd", {})}),
              IsOk());
  const std::vector<std::string> gone = {"ann", "nobody", "cyd", "ann"};
  const auto removed = table->Remove(gone);
  ASSERT_THAT(removed, IsOk());
  EXPECT_THAT(*removed, ElementsAre(UserKey("ann"), UserKey("cyd")));
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(Parts(*table, "ann"), PartsOf("ann", "", ""));
    EXPECT_EQ(Parts(*table, "bob"), PartsOf("bob", "de", ""));
    EXPECT_EQ(table->size(), 1);
    EXPECT_EQ(Stats(*table).values().at("country"), 1);
    EXPECT_EQ(Stats(*table).values().at("plan"), 0);
    table.reset();
    table = *Open();
  }
  ASSERT_THAT(table->Remove(gone), IsOk());
  EXPECT_EQ(table->size(), 1);
}

// Rows move when others go; each is found where it lies.
TEST_F(UserTableTest, FindsWhoIsLeft) {
  KnownUsers known({"country"});
  std::set<int> there;
  for (int step = 0; step < 20'000; ++step) {
    const int number = (step * 7919) % 3000;
    const std::string value = absl::StrCat("c", number % 5);
    const std::string_view view = value;
    if (step % 3 == 0) {
      EXPECT_EQ(known.Remove(UserKey(absl::StrCat(number))), there.erase(number) == 1);
    } else {
      known.Set(UserKey(absl::StrCat(number)), {&view, 1});
      there.insert(number);
    }
  }
  EXPECT_EQ(known.size(), there.size());
  std::vector<EffectKey> parts(1);
  for (int number = 0; number < 3000; ++number) {
    const bool is_there = there.contains(number);
    EXPECT_EQ(known.Parts(UserKey(absl::StrCat(number)), parts), is_there);
    const std::string value = absl::StrCat("c", number % 5);
    EXPECT_EQ(parts[0], is_there ? GroupKey("country", value) : kAbsent);
  }
}

TEST_F(UserTableTest, WhoWasRemovedDoesNotReturnWithTheSameFile) {
  spec_.effects->users_file = folder_.File("users.tsv");
  ASSERT_THAT(WriteFileDurably(spec_.effects->users_file, "user\tcountry\nann\tde\n", 0600),
              IsOk());
  auto table = *Open();
  ASSERT_THAT(table->Remove(std::vector<std::string>{"ann"}), IsOk());
  table.reset();
  table = *Open();
  EXPECT_EQ(table->size(), 0);
}

TEST_F(UserTableTest, ReadsItsFileWhenItIsNew) {
  spec_.effects->users_file = folder_.File("users.tsv");
  const auto write = [&](std::string_view text) {
    ASSERT_THAT(WriteFileDurably(spec_.effects->users_file, text, 0600), IsOk());
  };
  // Columns in another order, and one of another kind.
  write("user\tplan\tnode\tcountry\nann\tfree\t3\tde\nbob\t-\t1\t\n");
  auto table = *Open();
  EXPECT_EQ(Parts(*table, "ann"), PartsOf("ann", "de", "free"));
  EXPECT_EQ(Parts(*table, "bob"), PartsOf("bob", "", ""));
  EXPECT_EQ(Stats(*table).users(), 2);
  // Users put since then stand, as long as the file is unchanged.
  ASSERT_THAT(Put(*table, {UserOf("ann", {{"country", "fr"}})}), IsOk());
  table.reset();
  table = *Open();
  EXPECT_EQ(Parts(*table, "ann"), PartsOf("ann", "fr", ""));
  // A file with fewer groups has none of the others; users whom it does not name stay.
  write("user\tcountry\nann\tit\n");
  table.reset();
  table = *Open();
  EXPECT_EQ(Parts(*table, "ann"), PartsOf("ann", "it", ""));
  EXPECT_EQ(Stats(*table).users(), 2);

  table.reset();
  write("user\tcity\nann\trome\n");
  EXPECT_THAT(Open(), StatusIs(kInvalid, "users.tsv: the group city is not one of user_groups"));
  write("user\tcountry\nann\n");
  EXPECT_THAT(Open(), StatusIs(kInvalid, "users.tsv: line 2"));
  spec_.effects->users_max = 1;
  write("user\tcountry\nann\ta\nbea\ta\n");
  EXPECT_THAT(Open(), StatusIs(kInvalid, "users_max = 1"));
  write("user\tcountry\neva\ta\n");
  EXPECT_THAT(Open(), StatusIs(kNotNow, "users.tsv: the groups of 2 users"));
  spec_.effects->users_file = folder_.File("none.tsv");
  EXPECT_THAT(Open(), Not(IsOk()));
}

// Former versions took ids from files as they were. A page of them is no end of the list.
TEST_F(UserTableTest, IdsThatAreNoUtf8AreNotListed) {
  {
    auto store = *UserStore::Open(path());
    const std::vector<std::string_view> values(spec_.effects->user_groups.size(), "");
    const auto all = [&](UserStore::Take take) -> absl::Status {
      for (const char* id : {"ann", "caf\xE8", "caf\xE9", "caf\xFF", "zoe"}) {
        BANDANA_RETURN_IF_ERROR(take(id, values));
      }
      return absl::OkStatus();
    };
    ASSERT_THAT(store.Put(all, Sha256Digest{}), IsOk());
  }
  auto table = *Open();
  std::vector<std::string> listed;
  for (std::string after;;) {
    const auto page = table->List(after, 1);
    ASSERT_THAT(page, IsOk());
    if (page->empty()) break;
    after = page->back().id();
    listed.push_back(after);
    ASSERT_LE(listed.size(), 2u);
  }
  EXPECT_THAT(listed, ElementsAre("ann", "zoe"));
}

TEST_F(UserTableTest, ModelsWithoutGroupsHaveNoTable) {
  spec_.effects->user_groups.clear();
  const auto alone = *Open();
  EXPECT_THAT(Parts(*alone, "a"), ElementsAre(UserKey("a")));
  EXPECT_THAT(alone->NewBatch(),
              StatusIs(kNotNow, "model m has no groups of users: its user_groups is empty"));
  spec_.effects.reset();
  spec_.config.mutable_shared();
  const auto shared = *Open();
  EXPECT_THAT(Parts(*shared, "a"), ElementsAre());
  EXPECT_THAT(shared->NewBatch(),
              StatusIs(kNotNow, "model m has no groups of users: its coupling is shared"));
  EXPECT_EQ(Encoded(*shared), "");
  v1::GetStatsResponse stats;
  shared->FillStats(stats);
  EXPECT_FALSE(stats.has_user_groups());
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(UserTableTest, FindsDamage) {
  auto table = *Open();
  ASSERT_THAT(Put(*table, {UserOf("ann", {{"country", "somewhere"}})}), IsOk());
  table.reset();
  std::string bytes = *ReadFile(path(), 1 << 30);
  const std::size_t at = bytes.find("somewhere");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'S';
  ASSERT_THAT(WriteFileDurably(path(), bytes, 0600), IsOk());
  const auto opened = Open();
  EXPECT_THAT(opened, StatusIs(absl::StatusCode::kDataLoss, "user at position 0: wrong content"));
  EXPECT_THAT(std::string(opened.status().message()), Not(HasSubstr("ann")));
}

TEST_F(UserTableTest, CopiesHaveTheSameUsers) {
  const auto table = *Open();
  std::vector<v1::User> users;
  for (int i = 0; i < 50; ++i) {
    users.push_back(UserOf(absl::StrCat("u", i), {{"country", absl::StrCat(i % 7)}}));
  }
  ASSERT_THAT(Put(*table, users), IsOk());
  const std::string exported = Encoded(*table);
  const std::string copy = folder_.File("copy.sqlite");
  const std::string restored = folder_.File("restored.sqlite");
  ASSERT_THAT(MakeUsers(spec_, exported, TableAt(copy)), IsOk());
  ASSERT_THAT(server::CopyUserTable(TableAt(path()), TableAt(restored)), IsOk());
  for (const std::string& file : {copy, restored}) {
    const auto other = *UserTable::Open(spec_, file, seen_);
    EXPECT_EQ(Encoded(*other), exported);
    EXPECT_EQ(Parts(*other, "u8"), PartsOf("u8", "1", ""));
  }
  for (std::size_t size = 1; size < exported.size(); size += 61) {
    EXPECT_THAT(MakeUsers(spec_, exported.substr(0, size),
                          TableAt(folder_.File(absl::StrCat("cut", size)))),
                StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(MakeUsers(spec_, exported + "x", TableAt(folder_.File("long"))),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(UserTableTest, ReadersSeeOneOfTheRowsThatWerePut) {
  const auto table = *Open();
  const auto row = [](int i) {
    return Groups{{"country", absl::StrCat("c", i)}, {"plan", absl::StrCat("p", i)}};
  };
  ASSERT_THAT(Put(*table, {UserOf("ann", row(0))}), IsOk());
  std::set<std::vector<EffectKey>> rows;
  for (int i = 0; i < 20; ++i) {
    rows.insert(PartsOf("ann", absl::StrCat("c", i), absl::StrCat("p", i)));
  }
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!done) wrong += rows.contains(Parts(*table, "ann")) ? 0 : 1;
    });
  }
  for (int i = 0; i < 60; ++i) {
    EXPECT_THAT(Put(*table, {UserOf("ann", row(i % 20)), UserOf(absl::StrCat("x", i), row(i))}),
                IsOk());
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST(GroupValuesTest, NumbersAreUsedAgain) {
  GroupValues values("g");
  EXPECT_EQ(values.Join(""), GroupValues::kNone);
  const std::uint32_t a = values.Join("a");
  EXPECT_EQ(values.Join("a"), a);
  const std::uint32_t b = values.Join("b");
  EXPECT_NE(a, b);
  EXPECT_EQ(values.size(), 2u);
  values.Leave(a);
  EXPECT_EQ(values.Find("a"), a);
  values.Leave(a);
  EXPECT_EQ(values.Find("a"), GroupValues::kNone);
  EXPECT_EQ(values.size(), 1u);
  EXPECT_EQ(values.Join("c"), a);
  EXPECT_EQ(values.key(a), GroupKey("g", "c"));
  EXPECT_EQ(values.key(GroupValues::kNone), kAbsent);
}

}  // namespace
}  // namespace bandana::server
