// The arms that users were shown: bounds, order, bytes.
#include "common/model/state/seen_arms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bandana {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SeenKind kShown = SeenKind::kShown;
constexpr SeenKind kRewarded = SeenKind::kRewarded;

absl::Time At(std::int64_t second) { return absl::FromUnixSeconds(second); }

std::vector<std::uint32_t> Arms(const SeenArms& seen, EffectKey user, SeenKind kind = kShown,
                                std::int64_t from = 0) {
  std::vector<std::uint32_t> arms;
  for (const SeenArms::Seen& arm : seen.Of(kind, user, At(from))) arms.push_back(arm.arm);
  return arms;
}

std::string Bytes(const SeenArms& seen) {
  std::string bytes;
  ByteWriter out(bytes);
  seen.Encode(out);
  return bytes;
}

TEST(SeenArmsTest, KeepsArmsOfEachUserAndKindInTheirOrder) {
  SeenArms seen({.arms_per_user = 3, .users = 2, .kept = absl::Hours(1)});
  seen.Add(kShown, 7, 1, At(10));
  seen.Add(kShown, 7, 2, At(20));
  seen.Add(kRewarded, 7, 1, At(25));
  seen.Add(kShown, 8, 1, At(30));
  EXPECT_THAT(Arms(seen, 7), ElementsAre(1, 2));
  EXPECT_THAT(Arms(seen, 7, kRewarded), ElementsAre(1));
  EXPECT_THAT(Arms(seen, 7, kShown, 11), ElementsAre(2));
  EXPECT_THAT(Arms(seen, 8), ElementsAre(1));
  EXPECT_THAT(Arms(seen, 9), IsEmpty());
  EXPECT_EQ(seen.Of(kShown, 7, At(0))[1], (SeenArms::Seen{.arm = 2, .time = At(20)}));
}

TEST(SeenArmsTest, AnArmThatComesAgainCountsFromThenOn) {
  SeenArms seen({.arms_per_user = 3, .users = 2, .kept = absl::Hours(1)});
  for (const std::uint32_t arm : {1, 2, 1, 3, 4}) seen.Add(kShown, 7, arm, At(10 + arm));
  EXPECT_THAT(Arms(seen, 7), ElementsAre(1, 3, 4));
}

TEST(SeenArmsTest, UsersWhoWereLongestWithoutAnArmGo) {
  SeenArms seen({.arms_per_user = 3, .users = 2, .kept = absl::Hours(1)});
  seen.Add(kShown, 7, 1, At(1));
  seen.Add(kShown, 8, 1, At(2));
  seen.Add(kShown, 7, 2, At(3));
  seen.Add(kShown, 9, 1, At(4));
  EXPECT_THAT(Arms(seen, 8), IsEmpty());
  EXPECT_THAT(Arms(seen, 7), ElementsAre(1, 2));
  seen.Add(kShown, 9, 2, At(3603 + 1));  // an hour after user 7
  EXPECT_THAT(Arms(seen, 7), IsEmpty());
  EXPECT_EQ(seen.users(), 1);
}

TEST(SeenArmsTest, TimesThatGoBackCountAsTheNewest) {
  SeenArms seen({.arms_per_user = 3, .users = 2, .kept = absl::Hours(1)});
  seen.Add(kShown, 7, 1, At(100));
  seen.Add(kShown, 8, 1, At(50));
  EXPECT_EQ(seen.Of(kShown, 8, At(0))[0].time, At(100));
}

TEST(SeenArmsTest, ForgetsUsers) {
  SeenArms seen({.arms_per_user = 3, .users = 2, .kept = absl::Hours(1)});
  seen.Add(kShown, 7, 1, At(1));
  seen.Add(kRewarded, 8, 1, At(2));
  seen.Forget(std::vector<EffectKey>{8, 12345});
  EXPECT_THAT(Arms(seen, 8, kRewarded), IsEmpty());
  EXPECT_THAT(Arms(seen, 7), ElementsAre(1));
  EXPECT_EQ(seen.users(), 1);
}

// A set that was read goes on as the one that was written, through evictions.
TEST(SeenArmsTest, BytesHoldAllOfIt) {
  SeenArms one({.arms_per_user = 3, .users = 4, .kept = absl::Hours(1)});
  SeenArms other({.arms_per_user = 3, .users = 4, .kept = absl::Hours(1)});
  std::uint32_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    random = random * 1664525u + 1013904223u;
    const auto kind = random % 5 == 0 ? kRewarded : kShown;
    const EffectKey user = 2 + (random >> 8) % 7;
    const std::uint32_t arm = (random >> 16) % 9;
    const absl::Time time = At(i * 40 + (random >> 24));
    one.Add(kind, user, arm, time);
    other.Add(kind, user, arm, time);
    if (i % 97 != 0) continue;
    const std::string bytes = Bytes(one);
    ByteReader in(bytes);
    ASSERT_TRUE(one.Decode(in));
    ASSERT_TRUE(in.Done());
    ASSERT_EQ(Bytes(one), Bytes(other)) << i;
  }
  EXPECT_EQ(Bytes(one), Bytes(other));
}

TEST(SeenArmsTest, SmallerBoundsKeepTheNewest) {
  SeenArms large({.arms_per_user = 9, .users = 9, .kept = absl::Hours(1)});
  for (std::uint32_t i = 0; i < 9; ++i) large.Add(kShown, 2 + i % 3, i, At(i));
  const std::string bytes = Bytes(large);
  SeenArms small({.arms_per_user = 3, .users = 2, .kept = absl::Hours(1)});
  ByteReader in(bytes);
  ASSERT_TRUE(small.Decode(in));
  EXPECT_EQ(small.users(), 2);
  EXPECT_THAT(Arms(small, 2), IsEmpty());
  EXPECT_THAT(Arms(small, 4), ElementsAre(2, 5, 8));
}

TEST(SeenArmsTest, CutBytesAreRefused) {
  SeenArms seen({.arms_per_user = 3, .users = 2, .kept = absl::Hours(1)});
  seen.Add(kShown, 7, 1, At(1));
  const std::string bytes = Bytes(seen);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    SeenArms read({.arms_per_user = 3, .users = 2, .kept = absl::Hours(1)});
    ByteReader in(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(read.Decode(in)) << size;
  }
}

}  // namespace
}  // namespace bandana
