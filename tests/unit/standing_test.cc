#include "server/models/replicas/standing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/file.h"
#include "server/models/replicas/others_file.h"
#include "server/service/owners/standing_message.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr char kPlace[] = "here";

Standing Of(const std::string& name, std::uint64_t shown, std::vector<std::string> others = {}) {
  return {.name = name,
          .published = {.known = true, .position = {.sequence = shown, .hash = {}}},
          .others = std::move(others)};
}

absl::Status Check(const std::vector<Standing>& answers, const std::vector<std::string>& others,
                   std::uint64_t last = 8) {
  return CheckStandings(answers, others, "self", kPlace, last);
}

TEST(StandingTest, WhoWasThereLastNeedsNobody) {
  EXPECT_THAT(Check({}, {}), IsOk());
  EXPECT_THAT(Check({Of("b", 6)}, {}), IsOk());
}

TEST(StandingTest, EveryoneWhoWasThereAfterwardsMustAnswer) {
  EXPECT_TRUE(IsNeedsEpoch(Check({}, {"b"})));
  EXPECT_THAT(Check({Of("b", 8)}, {"b"}), IsOk());
  EXPECT_THAT(Check({Of("b", 8)}, {"b", "c"}).message(), HasSubstr("server c may have"));
  // And everyone who was there after those.
  EXPECT_THAT(Check({Of("b", 8, {"d", "self"})}, {"b"}).message(), HasSubstr("server d may have"));
  EXPECT_THAT(Check({Of("b", 8, {"d"}), Of("d", 7, {"self", "b"})}, {"b"}), IsOk());
}

TEST(StandingTest, NobodyMayHaveShownMore) {
  const absl::Status behind = Check({Of("b", 9)}, {});
  EXPECT_TRUE(IsNeedsEpoch(behind));
  EXPECT_THAT(behind.message(), HasSubstr("the log ends at entry 8, and server b published after"));
  Standing knows = Of("c", 8);
  knows.in_touch = kPlace;
  EXPECT_TRUE(IsNeedsEpoch(Check({Of("b", 9), knows}, {})));
}

TEST(StandingTest, OneThatKnowsTheStoreAsItRunsSpeaksForAll) {
  Standing knows = Of("b", 8, {"d"});
  knows.in_touch = kPlace;
  EXPECT_THAT(Check({knows}, {"b", "c"}), IsOk());
  knows.in_touch = "before it was put back";
  EXPECT_TRUE(IsNeedsEpoch(Check({knows}, {"b", "c"})));
}

TEST(StandingTest, ReleasesAreComparedWhereBothSaySomething) {
  const ReleasedBy one{.sequence = 64, .digest = {std::byte{1}}};
  const ReleasedBy other{.sequence = 64, .digest = {std::byte{2}}};
  const ReleasedBy later{.sequence = 128, .digest = {std::byte{3}}};
  EXPECT_THAT(CompareReleased(std::vector{one, later}, std::vector{one}), IsOk());
  EXPECT_THAT(CompareReleased(std::vector{one}, std::vector{later}), IsOk());
  EXPECT_THAT(CompareReleased(std::vector{later, one}, std::vector{other}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "what this server computes"));
}

TEST(StandingTest, TheMessageKeepsAll) {
  Standing standing = Of("b", 7, {"c", "d"});
  standing.published.position.hash[31] = std::byte{9};
  standing.published.epoch = 3;
  standing.published.totals = {.pure = 1, .mu_squared = 2, .rho = 3, .variation = 4};
  standing.in_touch = kPlace;
  standing.released = {{.sequence = 64, .digest = {std::byte{1}}}};
  const auto again = ParseStanding(ToProto(standing));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->name, "b");
  EXPECT_EQ(again->published.position, standing.published.position);
  EXPECT_EQ(again->published.epoch, 3u);
  EXPECT_EQ(again->published.totals, standing.published.totals);
  EXPECT_THAT(again->others, ElementsAre("c", "d"));
  EXPECT_EQ(again->in_touch, kPlace);
  ASSERT_EQ(again->released.size(), 1u);
  EXPECT_EQ(again->released[0].digest, standing.released[0].digest);
  EXPECT_FALSE(ParseStanding({}).ok());
}

TEST(OthersFileTest, IsReadBackOrRefused) {
  const TempDir folder;
  const InstanceId instance = {std::byte{1}};
  EXPECT_THAT(*ReadOthers(folder.path(), instance), IsEmpty());
  ASSERT_THAT(WriteOthers(folder.path(), instance, {"host:/a", "host:/b"}), IsOk());
  EXPECT_THAT(*ReadOthers(folder.path(), instance), ElementsAre("host:/a", "host:/b"));
  EXPECT_THAT(ReadOthers(folder.path(), InstanceId{}), StatusIs(absl::StatusCode::kDataLoss));
  std::string bytes = *ReadFile(folder.File("others"), 1000);
  bytes[30] ^= 1;
  ASSERT_THAT(WriteFileDurably(folder.File("others"), bytes, 0600), IsOk());
  EXPECT_THAT(ReadOthers(folder.path(), instance), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace bandana::server
