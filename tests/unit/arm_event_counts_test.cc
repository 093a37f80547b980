// Events of arms: who is cold, and bytes.
#include "common/model/state/arm_event_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bandana {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint8_t> Cold(const ArmEventCounts& counts, const std::vector<EffectKey>& keys,
                               std::size_t stride = 1) {
  std::vector<std::uint8_t> cold = {7};  // is replaced
  counts.FindCold(keys, stride, cold);
  return cold;
}

TEST(ArmEventCountsTest, ArmsAreColdUntilTheyHaveEnough) {
  ArmEventCounts counts(2);
  const std::vector<EffectKey> keys = {ArmKey(1), ArmKey(2), ArmKey(3), kAbsent, UserKey("u")};
  EXPECT_THAT(Cold(counts, keys), ElementsAre(1, 1, 1, 0, 0));
  counts.Add(1);
  counts.Add(2);
  counts.Add(2);
  counts.Add(2);
  EXPECT_THAT(Cold(counts, keys), ElementsAre(1, 0, 1, 0, 0));
  // The key of an arm, and one of its group.
  const std::vector<EffectKey> pairs = {ArmKey(2), GroupKey("g", "x"), ArmKey(1), kAbsent};
  EXPECT_THAT(Cold(counts, pairs, 2), ElementsAre(0, 1));
}

TEST(ArmEventCountsTest, AnArmThatIsForgottenIsColdAgain) {
  ArmEventCounts counts(1);
  counts.Add(1);
  counts.Add(2);
  counts.Forget(std::vector<EffectKey>{ArmKey(2), UserKey("u")});
  EXPECT_THAT(Cold(counts, {ArmKey(1), ArmKey(2)}), ElementsAre(0, 1));
}

TEST(ArmEventCountsTest, BytesHoldAllOfItDownToTheBound) {
  ArmEventCounts counts(9);
  for (const std::uint32_t arm : {5, 1, 5, 5, 3}) counts.Add(arm);
  std::string bytes;
  ByteWriter out(bytes);
  counts.Encode(out);
  ArmEventCounts same(9), fewer(2);
  ByteReader in(bytes), again(bytes);
  ASSERT_TRUE(same.Decode(in) && in.Done());
  ASSERT_TRUE(fewer.Decode(again));
  std::string written;
  ByteWriter writer(written);
  same.Encode(writer);
  EXPECT_EQ(written, bytes);
  EXPECT_THAT(Cold(fewer, {ArmKey(1), ArmKey(3), ArmKey(5)}), ElementsAre(1, 1, 0));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ByteReader cut(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(ArmEventCounts(9).Decode(cut)) << size;
  }
}

}  // namespace
}  // namespace bandana
