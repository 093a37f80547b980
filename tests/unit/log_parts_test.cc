#include "server/decisions/log_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

UserPseudonym User(int n) {
  UserPseudonym user{};
  user[0] = std::byte{1};
  user[1] = static_cast<std::byte>(n);
  user[2] = static_cast<std::byte>(n >> 8);
  user[3] = static_cast<std::byte>(n >> 16);
  return user;
}

std::vector<UserPseudonym> Users(int from, int count) {
  std::vector<UserPseudonym> users;
  for (int n = from; n < from + count; ++n) users.push_back(User(n));
  return users;
}

TEST(LogPartsTest, AnErasureWaitsForEveryKeeper) {
  LogParts parts;
  SetKeeper(parts, "a", 0);
  SetKeeper(parts, "b", 0);
  const std::uint64_t number = AddErasure(parts, Users(1, 2));
  EXPECT_THAT(Outstanding(parts, number), ElementsAre("a", "b"));
  EXPECT_EQ(UsersAfter(parts, 0), Users(1, 2));
  SetKeeper(parts, "a", number);
  EXPECT_THAT(Outstanding(parts, number), ElementsAre("b"));
  EXPECT_THAT(UsersAfter(parts, number), IsEmpty()) << "who has done it does it once";
  EXPECT_EQ(UsersAfter(parts, 0), Users(1, 2)) << "b has still to do it";
  SetKeeper(parts, "b", number);
  EXPECT_THAT(Outstanding(parts, number), IsEmpty());
  EXPECT_THAT(parts.erasures, IsEmpty()) << "nobody needs the pseudonyms any more";
  EXPECT_EQ(AddErasure(parts, Users(9, 1)), number + 1);
}

TEST(LogPartsTest, LinesGoOnOnlyWhereItIsKnownWhoWasDeleted) {
  LogParts parts;
  EXPECT_FALSE(MayGoOn(parts, "a", 0)) << "it is no keeper: nothing waited for it";
  SetKeeper(parts, "a", 0);
  SetKeeper(parts, "b", 0);
  AddErasure(parts, Users(1, 1));
  EXPECT_TRUE(MayGoOn(parts, "a", 0)) << "it can be done still";
  SetKeeper(parts, "a", 1);
  EXPECT_TRUE(MayGoOn(parts, "a", 1));
  EXPECT_FALSE(MayGoOn(parts, "a", 0)) << "its folder is a copy of before";
  RemoveKeeper(parts, "a");
  EXPECT_FALSE(MayGoOn(parts, "a", 1));
}

// A store that was put back would use a number again that a server has done.
TEST(LogPartsTest, NumbersGrowAlsoAfterAStoreThatWasPutBack) {
  LogParts parts;
  SetKeeper(parts, "a", 7);
  EXPECT_EQ(AddErasure(parts, Users(1, 1)), 8u);
}

TEST(LogPartsTest, WhoIsAwayForTooManyDeletionsIsStruck) {
  LogParts parts;
  SetKeeper(parts, "a", 0);
  SetKeeper(parts, "b", 0);
  std::uint64_t number = 0;
  for (int i = 0; i <= static_cast<int>(kUsersErasingMax) / 1000; ++i) {
    number = AddErasure(parts, Users(1000 * i, 1000));
    SetKeeper(parts, "a", number);
  }
  EXPECT_TRUE(MayGoOn(parts, "a", number));
  EXPECT_FALSE(MayGoOn(parts, "b", 0)) << "all its lines go when it comes back";
  EXPECT_THAT(Outstanding(parts, number), ElementsAre("b"));
  EXPECT_THAT(parts.erasures, IsEmpty());
  SetKeeper(parts, "b", number);
  EXPECT_THAT(Outstanding(parts, number), IsEmpty());
}

TEST(LogPartsTest, TheyAreReadAsTheyWereWritten) {
  LogPartsTable table;
  LogParts& parts = table[User(5)];
  SetKeeper(parts, "a", 3);
  SetKeeper(parts, "host:/data", 2);
  AddErasure(parts, Users(1, 3));
  parts.keepers["host:/data"].struck = true;
  table[User(6)];  // nobody keeps one
  const std::string bytes = EncodeParts(table);
  const auto read = DecodeParts(bytes);
  ASSERT_THAT(read, IsOkAndHolds(SizeIs(1)));
  EXPECT_EQ(read->at(User(5)), parts);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_THAT(DecodeParts(std::string_view(bytes).substr(0, cut)).status(),
                StatusIs(absl::StatusCode::kDataLoss))
        << cut;
  }
  EXPECT_THAT(DecodeParts(bytes + "x").status(), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace bandana::server
