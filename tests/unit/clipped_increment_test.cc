#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/mechanisms/counters/counter_encoder.h"
#include "common/mechanisms/counters/increment.h"
#include "tests/support/counter_peer.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

double Norm(const std::vector<std::int64_t>& values) {
  long double sum = 0;
  for (const std::int64_t v : values) sum += static_cast<long double>(v) * v;
  return static_cast<double>(std::sqrt(sum));
}

TEST(ClippedIncrementTest, StaysWithinTheBoundForAnyInput) {
  constexpr double kHuge = std::numeric_limits<double>::max();
  const std::vector<std::vector<double>> inputs = {
      {1, 1, 1}, {kHuge, -kHuge, kHuge}, {3, 4, 0},           {-1e-300, 0, 1e300}, {0.6, 0.8, 0},
      {1, 0, 0}, {-1, 1e-9, 0},          {1e-310, 1e-310, 0}, {0.5, -0.5, 0.707}};
  for (const std::int64_t bound : {std::int64_t{1}, std::int64_t{5}, std::int64_t{1} << 31}) {
    const IncrementGrid grid = {.dimension = 3, .exponent = -31, .norm_bound = bound};
    for (const std::vector<double>& input : inputs) {
      const auto clipped = ClippedIncrement::Clip(input, grid);
      ASSERT_THAT(clipped, IsOk());
      EXPECT_LE(Norm(ClippedIncrementPeer::Values(*clipped)), static_cast<double>(bound));
    }
  }
}

TEST(ClippedIncrementTest, KeepsShortVectorsAndDirections) {
  const IncrementGrid grid = {.dimension = 2, .exponent = -10, .norm_bound = 1024};
  EXPECT_EQ(
      ClippedIncrementPeer::Values(*ClippedIncrement::Clip(std::vector<double>{0.5, -0.25}, grid)),
      (std::vector<std::int64_t>{512, -256}));
  const std::vector<std::int64_t> scaled =
      ClippedIncrementPeer::Values(*ClippedIncrement::Clip(std::vector<double>{30, -40}, grid));
  EXPECT_NEAR(static_cast<double>(scaled[0]), 0.6 * 1024, 2);
  EXPECT_NEAR(static_cast<double>(scaled[1]), -0.8 * 1024, 2);
}

TEST(ClippedIncrementTest, MapsNanAndInfinityToZero) {
  const IncrementGrid grid = {.dimension = 2, .exponent = 0, .norm_bound = 10};
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(
        ClippedIncrementPeer::Values(*ClippedIncrement::Clip(std::vector<double>{3, bad}, grid)),
        (std::vector<std::int64_t>{0, 0}));
  }
  EXPECT_THAT(ClippedIncrement::Clip(std::vector<double>{3}, grid),
              StatusIs(absl::StatusCode::kInvalidArgument, "increment must have 2 coordinates"));
}

TEST(ClippedIncrementTest, CannotBeCopiedComparedOrMadeByHand) {
  static_assert(!std::is_copy_constructible_v<ClippedIncrement>);
  static_assert(!std::is_copy_constructible_v<CounterEncoder>);
  static_assert(!std::is_default_constructible_v<ClippedIncrement>);
  static_assert(
      !std::is_constructible_v<ClippedIncrement, IncrementGrid, std::vector<std::int64_t>>);
  static_assert(!std::equality_comparable<ClippedIncrement>);
}

std::string Chained(const std::vector<double>& values, const IncrementGrid& grid,
                    const Sha256Digest& before) {
  return ToHex(ClippedIncrement::Clip(values, grid)->ChainAfter(before));
}

TEST(ClippedIncrementTest, ChainIsOfTheClippedIntegersAndAllBefore) {
  // By Python's hashlib: "bandana increment 1", 32 zero bytes, then -3, 2, 5, -7 as 8 bytes each.
  const IncrementGrid grid{.dimension = 2, .exponent = -3, .norm_bound = 10};
  const std::string one = Chained({0.7, -0.9}, grid, {});
  EXPECT_EQ(one, "fe69ee7fef86d3c0217081bcee9102dadd470774780f26862a38a3f9074906b6");
  EXPECT_EQ(Chained({0.74, -0.99}, grid, {}), one);  // the same grid steps
  EXPECT_NE(Chained({0.76, -0.9}, grid, {}), one);
  EXPECT_NE(Chained({0.7, -0.9}, {.dimension = 2, .exponent = -3, .norm_bound = 8}, {}), one);
  Sha256Digest other{};
  other[31] = std::byte{1};
  EXPECT_NE(Chained({0.7, -0.9}, grid, other), one);
}

}  // namespace
}  // namespace bandana::testing
