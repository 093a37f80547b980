// Vector noise of the papers: what it refuses, what it says of itself, its bits.
#include "tools/published/published_noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr PublishedNoiseKind kKinds[] = {PublishedNoiseKind::kCoordinateLaplace,
                                         PublishedNoiseKind::kL2Norm};

PublishedNoise::Options Good(PublishedNoiseKind kind) {
  return {.kind = kind, .epsilon = {2}, .size = 10, .sensitivity = {3}};
}

TEST(PublishedNoiseTest, RefusesBadOptions) {
  for (const PublishedNoiseKind kind : kKinds) {
    for (const double bad : {0.0, -1.0, kNan, kInf, 1001.0}) {
      PublishedNoise::Options options = Good(kind);
      options.epsilon = {bad};
      EXPECT_THAT(PublishedNoise::Create(options),
                  StatusIs(absl::StatusCode::kInvalidArgument, "epsilon"));
    }
    for (const double bad : {0.0, -1.0, kNan, kInf}) {
      PublishedNoise::Options options = Good(kind);
      options.sensitivity = {bad};
      EXPECT_THAT(PublishedNoise::Create(options),
                  StatusIs(absl::StatusCode::kInvalidArgument, "sensitivity"));
    }
    for (const std::size_t bad : {std::size_t{0}, (std::size_t{1} << 20) + 1}) {
      PublishedNoise::Options options = Good(kind);
      options.size = bad;
      EXPECT_THAT(PublishedNoise::Create(options),
                  StatusIs(absl::StatusCode::kInvalidArgument, "size"));
    }
  }
}

TEST(PublishedNoiseTest, NeverClaimsToBeProven) {
  const PublishedNoise laplace = *PublishedNoise::Create(Good(kKinds[0]));
  const PublishedNoise l2_norm = *PublishedNoise::Create(Good(kKinds[1]));
  EXPECT_EQ(laplace.descriptor().label, GuaranteeLabel::kPublished);
  EXPECT_EQ(l2_norm.descriptor().label, GuaranteeLabel::kPublished);
  EXPECT_EQ(l2_norm.descriptor().cost.pure->value, 2);
  EXPECT_NE(laplace.descriptor().parameters, l2_norm.descriptor().parameters);
  EXPECT_NE(laplace.descriptor().name, l2_norm.descriptor().name);
}

TEST(PublishedNoiseTest, TheScaleIsSensitivityOverEpsilon) {
  const PublishedNoise laplace = *PublishedNoise::Create(Good(kKinds[0]));
  EXPECT_EQ(laplace.scale(), 1.5);
  EXPECT_EQ(PublishedNoise::Create(Good(kKinds[1]))->scale(), 1.5);
}

TEST(PublishedNoiseTest, TheSameBytesGiveTheSameNoise) {
  for (const PublishedNoiseKind kind : kKinds) {
    const PublishedNoise noise = *PublishedNoise::Create(Good(kind));
    std::vector<double> first(10), again(10), other(10);
    SeededBits a(621), b(621), c(622);
    ASSERT_TRUE(noise.Sample(first, a).ok());
    ASSERT_TRUE(noise.Sample(again, b).ok());
    ASSERT_TRUE(noise.Sample(other, c).ok());
    EXPECT_EQ(first, again);
    EXPECT_NE(first, other);
  }
}

TEST(PublishedNoiseTest, FailsClosed) {
  FailingBits failing(0);
  std::vector<double> out(10);
  for (const PublishedNoiseKind kind : kKinds) {
    EXPECT_THAT(PublishedNoise::Create(Good(kind))->Sample(out, failing),
                StatusIs(absl::StatusCode::kUnavailable, ""));
  }
}

}  // namespace
}  // namespace bandana::testing
