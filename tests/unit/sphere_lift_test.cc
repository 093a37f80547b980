// privunit's geometry: the lift has one norm whatever phi is, and the cap's edge is where it should
// be.
#include "common/mechanisms/sphere_lift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

unsigned __int128 SquaredNorm(const std::vector<std::int64_t>& v) {
  unsigned __int128 sum = 0;
  for (const std::int64_t value : v) {
    sum += static_cast<unsigned __int128>(static_cast<__int128>(value) * value);
  }
  return sum;
}

constexpr unsigned __int128 kWhole = static_cast<unsigned __int128>(1) << 113;

// A vector of norm `norm` in a random direction, in steps of 2^-grid_bits, toward zero.
std::vector<std::int64_t> RandomPhi(TestRng& rng, int size, double norm, int grid_bits) {
  std::vector<std::int64_t> phi;
  for (const double x : rng.UnitVector(size)) {
    phi.push_back(static_cast<std::int64_t>(std::ldexp(x * norm, grid_bits)));
  }
  return phi;
}

TEST(SphereLiftTest, TheNormIsTheSameForEveryStatistic) {
  TestRng rng(681);
  for (int i = 0; i < 5000; ++i) {
    const int grid_bits = 8 + rng.Index(19);
    // Up to sqrt(2), sometimes far beyond: a longer one is lifted as 0.
    const double norm = i % 10 == 0 ? 1000 * rng.Uniform() : std::sqrt(2) * rng.Uniform();
    const std::vector<std::int64_t> phi = RandomPhi(rng, 2 + rng.Index(70), norm, grid_bits);
    const std::vector<std::int64_t> v = LiftToSphere(phi, grid_bits);
    ASSERT_EQ(v.size(), phi.size() + 1);
    const unsigned __int128 squares = SquaredNorm(v);
    EXPECT_LE(squares, kWhole);
    EXPECT_GE(squares, kWhole - (kWhole >> 55));
    EXPECT_GE(v.back(), 0);
    if (norm <= 1.4) {
      for (std::size_t c = 0; c < phi.size(); ++c) {
        EXPECT_EQ(v[c], phi[c] * (std::int64_t{1} << (kLiftBits - grid_bits)));
      }
    }
  }
}

TEST(SphereLiftTest, Ends) {
  const std::int64_t full = std::int64_t{1} << 20;
  // |phi|^2 = 2 exactly leaves nothing; one step more is not lifted at all.
  EXPECT_EQ(LiftToSphere(std::vector<std::int64_t>{full, -full}, 20).back(), 0);
  const std::vector<std::int64_t> longer =
      LiftToSphere(std::vector<std::int64_t>{full + 1, -full}, 20);
  EXPECT_EQ(longer[0], 0);
  EXPECT_EQ(longer, LiftToSphere(std::vector<std::int64_t>{0, 0}, 20));
  // floor(2^56.5)
  EXPECT_EQ(longer.back(), 101'904'826'760'412'361);
}

// Away from the edge by more than any rounding the answer is that of long double; at it, either.
TEST(InCapTest, AgreesWithLongDouble) {
  TestRng rng(682);
  int inside = 0;
  for (int i = 0; i < 20'000; ++i) {
    const int n = 3 + rng.Index(200);
    const std::vector<std::int64_t> v =
        LiftToSphere(RandomPhi(rng, n - 1, std::sqrt(2) * rng.Uniform(), 20), 20);
    std::vector<double> z(n);
    for (double& value : z) value = rng.Normal();
    long double product = 0, squares = 0;
    for (int c = 0; c < n; ++c) {
      product += static_cast<long double>(z[c]) * v[c];
      squares += static_cast<long double>(z[c]) * z[c];
    }
    const long double t = product / std::sqrt(squares) / std::sqrt(0x1p113L);
    if (t < 0) {
      EXPECT_FALSE(InCap(z, v, 0));
      continue;
    }
    ++inside;
    EXPECT_TRUE(InCap(z, v, static_cast<double>(t - 0x1p-47L)));
    EXPECT_FALSE(InCap(z, v, static_cast<double>(t + 0x1p-47L)));
  }
  EXPECT_GT(inside, 9000);
}

TEST(InCapTest, ExtremeNormalsDoNotOverflow) {
  const std::vector<std::int64_t> v = LiftToSphere(std::vector<std::int64_t>((1 << 16) - 1, 0), 20);
  const std::vector<double> z(1 << 16, 13.44);
  // t = 1 / sqrt(n) = 2^-8, up to the truncation of z.
  EXPECT_TRUE(InCap(z, v, 0x1p-8 * (1 - 0x1p-40)));
  EXPECT_FALSE(InCap(z, v, 0x1p-8 * (1 + 0x1p-40)));
}

}  // namespace
}  // namespace bandana::testing
