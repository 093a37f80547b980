#include "client/core/counter_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "client/core/tables.h"
#include "common/base/bytes.h"
#include "tests/support/failing_bits.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/mechanisms.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class CounterStreamTest : public ::testing::Test {
 protected:
  HeldReward Held(std::optional<double> reward) const {
    return HeldReward::Clip(reward, spec_.reward_range, spec_.default_reward());
  }
  CounterStream Fresh() const { return *CounterStream::Restore(design_, SecretBytes()); }
  // The first step's release for (x, r), always under equal noise.
  std::vector<double> First(std::vector<double> x, std::optional<double> reward) const {
    SeededBits bits(7);
    return *Fresh().Step(x, Held(reward), centre_, bits);
  }

  const PublicSpec spec_ = CounterModelSpec();
  const CounterDesign design_ = testing::DesignOf(spec_);
  const double centre_ = spec_.reward_range.middle();
  const double grid_step_ = std::ldexp(1.0, design_.grid().exponent);
};

TEST_F(CounterStreamTest, SendsTheDecodedReleasesOfTheCentredIncrementsAndNothingElse) {
  SeededBits stream_bits(7), bits(7);
  CounterStream stream = Fresh();
  CounterEncoder encoder(design_);
  CounterDecoder decoder(design_);
  for (int t = 0; t < 50; ++t) {
    const double reward = t % 3 * 0.5;
    const std::vector<double> x = {0.6, t % 2 ? 0.8 : -0.8};
    const auto moment = stream.Step(x, Held(reward), centre_, stream_bits);
    ASSERT_THAT(moment, IsOk());
    const std::vector<double> g = {x[0] * (reward - 0.5), x[1] * (reward - 0.5)};
    const auto release = encoder.Step(*ClippedIncrement::Clip(g, design_.grid()), bits);
    ASSERT_THAT(decoder.Push(*release), IsOk());
    EXPECT_EQ(*moment, decoder.Estimate());
    EXPECT_EQ(stream.step(), t + 1);
  }
}

TEST_F(CounterStreamTest, RewardsOutsideTheRangeMoveToItsEndsAndMissingOnesAreTheDefault) {
  EXPECT_EQ(First({1, 0}, 7.0), First({1, 0}, 1.0));
  EXPECT_EQ(First({1, 0}, kInfinity), First({1, 0}, 1.0));
  EXPECT_EQ(First({1, 0}, -7.0), First({1, 0}, 0.0));
  EXPECT_EQ(First({1, 0}, kNaN), First({1, 0}, spec_.default_reward()));
  EXPECT_EQ(First({1, 0}, std::nullopt), First({1, 0}, spec_.default_reward()));
  EXPECT_NE(First({1, 0}, 1.0), First({1, 0}, 0.0));
}

TEST_F(CounterStreamTest, FeaturesBeyondTheirBoundWeighNoMoreThanIt) {
  const auto longest = First({1, 0}, 1.0);
  const auto beyond = First({100, 0}, 1.0);
  EXPECT_NEAR(beyond[0], longest[0], 2 * grid_step_);
  EXPECT_EQ(First({kNaN, 1}, 1.0), First({0, 0}, 1.0));
  EXPECT_EQ(First({kInfinity, 1}, 1.0), First({0, 0}, 1.0));
}

TEST_F(CounterStreamTest, ARestoredStreamGoesOnBitForBit) {
  SeededBits whole_bits(9), bits(9);
  CounterStream whole = Fresh();
  SecretBytes state;
  for (int t = 0; t < 30; ++t) {
    const std::vector<double> x = {1, 0};
    const auto expected = whole.Step(x, Held(1.0), centre_, whole_bits);
    auto stream = CounterStream::Restore(design_, state);
    ASSERT_THAT(stream, IsOk());
    const auto moment = stream->Step(x, Held(1.0), centre_, bits);
    ASSERT_THAT(moment, IsOk());
    EXPECT_EQ(*moment, *expected);
    state.get() = stream->Save().get();
  }
}

TEST_F(CounterStreamTest, DamagedStatesAndThoseOfOtherDesignsAreRefused) {
  SeededBits bits(1);
  CounterStream stream = Fresh();
  ASSERT_THAT(stream.Step(std::vector<double>{1, 0}, Held(1.0), centre_, bits), IsOk());
  const std::string state = stream.Save().get();
  for (std::size_t size = 1; size < state.size(); ++size) {
    EXPECT_THAT(CounterStream::Restore(design_, SecretBytes(state.substr(0, size))),
                StatusIs(absl::StatusCode::kDataLoss))
        << size;
  }
  EXPECT_THAT(CounterStream::Restore(design_, SecretBytes(state + "x")),
              StatusIs(absl::StatusCode::kDataLoss));
  for (std::size_t at = 0; at < state.size(); ++at) {
    std::string flipped = state;
    flipped[at] ^= 1;
    EXPECT_FALSE(CounterStream::Restore(design_, SecretBytes(flipped)).ok()) << at;
  }
  PublicSpec other = spec_;
  other.epsilon = {2};
  EXPECT_THAT(CounterStream::Restore(testing::DesignOf(other), SecretBytes(state)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "another design"));
}

TEST_F(CounterStreamTest, WithoutEntropyNothingIsReleased) {
  FailingBits dry(0);
  CounterStream stream = Fresh();
  EXPECT_THAT(stream.Step(std::vector<double>{1, 0}, Held(1.0), centre_, dry),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(stream.step(), 0);
  EXPECT_THAT(stream.Step(std::vector<double>{1}, Held(1.0), centre_, dry),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(CounterStreamTest, HeldRewardsComeBack) {
  const auto held = HeldReward::Unpack(Held(0.25).Pack().get());
  ASSERT_TRUE(held);
  EXPECT_EQ(held->Pack().get(), Held(0.25).Pack().get());
  // As long for every reward.
  for (const double reward : {-1e9, 0.0, 0.1, 1e9}) {
    EXPECT_EQ(Held(reward).Pack().get().size(), kHeldBytes);
  }
  EXPECT_FALSE(HeldReward::Unpack(""));
  EXPECT_FALSE(HeldReward::Unpack("seven.."));
  EXPECT_FALSE(HeldReward::Unpack("nine....."));
  // Bytes are not trusted to be in the range.
  std::string wild;
  ByteWriter(wild).F64(1e300);
  SeededBits bits(7);
  const auto moment =
      Fresh().Step(std::vector<double>{1, 0}, *HeldReward::Unpack(wild), centre_, bits);
  ASSERT_THAT(moment, IsOk());
  EXPECT_NEAR((*moment)[0], First({1, 0}, 1.0)[0], 2 * grid_step_);
}

}  // namespace
}  // namespace bandana::device
