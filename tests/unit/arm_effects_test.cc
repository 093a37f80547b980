// How a device reads the pages of effects of arms.
#include "client/core/selection/arm_effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "bandana/client.h"
#include "tests/support/status_matchers.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

ArmEffectsPage Page(std::uint64_t version, const std::vector<std::uint32_t>& ids,
                    std::uint64_t next_arm = 0) {
  ArmEffectsPage page;
  page.version = version;
  for (const std::uint32_t id : ids) {
    page.ids.push_back(id);
    page.means.push_back(static_cast<float>(id) / 8);
    page.variances.push_back(static_cast<float>(id) / 4);
  }
  page.next_arm = next_arm;
  page.unknown_mean = 0.5;
  page.unknown_variance = 0.25;
  return page;
}

TEST(ArmEffectsTest, PagesMakeOneBlock) {
  ArmEffectsPages pages;
  ASSERT_THAT(pages.Add(Page(4, {0, 2, 5}, 8)), IsOkAndHolds(8u));
  ASSERT_THAT(pages.Add(Page(6, {8, 9})), IsOkAndHolds(0u));
  const auto arms = pages.Take();
  EXPECT_EQ(arms->version(), 4u);  // what is newer is asked for again
  EXPECT_EQ(arms->size(), 5u);
  EXPECT_EQ(arms->ShareOf(5).mean, 0.625);
  EXPECT_EQ(arms->ShareOf(5).variance, 1.25);
  EXPECT_EQ(arms->ShareOf(9).variance, 2.25);
  for (const std::uint32_t unknown : {1u, 6u, 10u, 0xfffffffeu}) {
    EXPECT_EQ(arms->ShareOf(unknown).mean, 0.5);
    EXPECT_EQ(arms->ShareOf(unknown).variance, 0.25);
  }
  EXPECT_EQ(arms->ShareOf(Arms::kNoId).mean, 0);
  EXPECT_EQ(arms->ShareOf(Arms::kNoId).variance, 0);
}

TEST(ArmEffectsTest, ABlockMayBeEmpty) {
  ArmEffectsPages pages;
  ASSERT_THAT(pages.Add(Page(1, {})), IsOkAndHolds(0u));
  EXPECT_EQ(pages.Take()->ShareOf(3).variance, 0.25);
}

TEST(ArmEffectsTest, RefusesWhatDoesNotFit) {
  const auto internal = absl::StatusCode::kInternal;
  auto page = Page(1, {1, 2});
  page.means.push_back(1);
  EXPECT_THAT(ArmEffectsPages().Add(page), StatusIs(internal, "one mean and variance"));
  EXPECT_THAT(ArmEffectsPages().Add(Page(1, {2, 1})), StatusIs(internal, "ascend"));
  EXPECT_THAT(ArmEffectsPages().Add(Page(1, {2, 2})), StatusIs(internal, "ascend"));
  // No page of a hostile server brings the device no further.
  EXPECT_THAT(ArmEffectsPages().Add(Page(1, {}, 7)), StatusIs(internal, "ascend"));
  EXPECT_THAT(ArmEffectsPages().Add(Page(1, {7}, 7)), StatusIs(internal, "ascend"));
  ArmEffectsPages twice;
  ASSERT_THAT(twice.Add(Page(1, {1, 7}, 8)), IsOk());
  EXPECT_THAT(twice.Add(Page(1, {7, 8})), StatusIs(internal, "ascend"));
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0}) {
    page = Page(1, {1});
    page.variances[0] = static_cast<float>(wrong);
    EXPECT_THAT(ArmEffectsPages().Add(page), StatusIs(internal, "finite"));
    page = Page(1, {1});
    page.unknown_variance = wrong;
    EXPECT_THAT(ArmEffectsPages().Add(page), StatusIs(internal, "finite"));
    if (wrong == -1) continue;
    page = Page(1, {1});
    page.means[0] = static_cast<float>(wrong);
    EXPECT_THAT(ArmEffectsPages().Add(page), StatusIs(internal, "finite"));
    page = Page(1, {1});
    page.unknown_mean = wrong;
    EXPECT_THAT(ArmEffectsPages().Add(page), StatusIs(internal, "finite"));
  }
}

TEST(ArmEffectsTest, ABlockHasAnEnd) {
  std::vector<std::uint32_t> ids(600'000);
  for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
  ArmEffectsPages pages;
  ASSERT_THAT(pages.Add(Page(1, ids, ids.size())), IsOk());
  for (std::uint32_t& id : ids) id += 600'000;
  EXPECT_THAT(pages.Add(Page(1, ids)), StatusIs(absl::StatusCode::kInternal, "1000000 arms"));
}

}  // namespace
}  // namespace bandana::device
