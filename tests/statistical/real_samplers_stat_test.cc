// Draws of the continuous samplers against their laws. Seeds are fixed: the run is deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/random/real_samplers.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

constexpr std::uint64_t kDraws = 400'000;
using Cdf = std::function<double(double)>;

// Cells between equally spaced edges from `low` to `high`, the tails in the end cells.
struct Cells {
  double low, high;
  int count;
  std::size_t Of(double x) const {
    const double cell = (x - low) / (high - low) * count;
    return static_cast<std::size_t>(std::clamp(cell, 0.0, count - 1.0));
  }
  std::vector<double> Law(const Cdf& cdf) const {
    std::vector<double> law;
    double last = 0;
    for (int i = 1; i <= count; ++i) {
      const double next = i == count ? 1 : cdf(low + (high - low) * i / count);
      law.push_back(next - last);
      last = next;
    }
    return law;
  }
};

double NormalCdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
double LaplaceCdf(double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; }
// Gamma of half-integer shape k + 1/2: P(k + 1/2, x) by the recurrence from erf.
double HalfIntegerGammaCdf(int k, double x) {
  double cdf = std::erf(std::sqrt(x));
  for (int i = 0; i < k; ++i) cdf -= std::exp((i + 0.5) * std::log(x) - x - std::lgamma(i + 1.5));
  return cdf;
}

void ExpectFits(const char* name, const Cells& cells, const Cdf& cdf, const Cdf& mutant,
                std::uint64_t seed, absl::StatusOr<double> (*draw)(RealSampler&)) {
  SCOPED_TRACE(name);
  const FitTest fit = *FitTest::Create(kDraws, cells.Law(cdf), AlphaOf("real_samplers_fit") / 5);
  EXPECT_GE(fit.PowerAtLeast(cells.Law(mutant)), 0.99);
  SeededBits bits(seed);
  RealSampler sampler(bits);
  std::vector<std::uint64_t> counts(cells.count, 0);
  for (std::uint64_t i = 0; i < kDraws; ++i) ++counts[cells.Of(*draw(sampler))];
  EXPECT_TRUE(fit.Accepts(counts));
}

// The mutant in each: scale 0.97.
TEST(RealSamplersStatTest, DrawsFollowTheirLaws) {
  ExpectFits(
      "normal", {-4, 4, 64}, NormalCdf, [](double x) { return NormalCdf(x / 0.97); }, 611,
      [](RealSampler& sampler) { return sampler.Normal(); });
  ExpectFits(
      "exponential", {0, 8, 64}, [](double x) { return -std::expm1(-x); },
      [](double x) { return -std::expm1(-x / 0.97); }, 612,
      [](RealSampler& sampler) { return sampler.Exponential(); });
  ExpectFits(
      "laplace", {-8, 8, 64}, LaplaceCdf, [](double x) { return LaplaceCdf(x / 0.97); }, 613,
      [](RealSampler& sampler) { return sampler.Laplace(); });
  ExpectFits(
      "gamma 3/2", {0, 8, 64}, [](double x) { return HalfIntegerGammaCdf(1, x); },
      [](double x) { return HalfIntegerGammaCdf(1, x / 0.97); }, 614,
      [](RealSampler& sampler) { return sampler.Gamma(1.5); });
  ExpectFits(
      "gamma 41/2", {5, 40, 64}, [](double x) { return HalfIntegerGammaCdf(20, x); },
      [](double x) { return HalfIntegerGammaCdf(20, x / 0.97); }, 615,
      [](RealSampler& sampler) { return sampler.Gamma(20.5); });
}

// In R^3 each coordinate of a uniform direction is uniform on [-1, 1], and the azimuth is uniform.
// Mutant: coordinates of a cube, normalised.
TEST(RealSamplersStatTest, DirectionsAreUniform) {
  const Cells cells{-1, 1, 50};
  const std::vector<double> law(50, 1.0 / 50);
  const FitTest fit = *FitTest::Create(kDraws, law, AlphaOf("random_direction") / 4);
  std::vector<std::uint64_t> heights(50, 0), azimuths(50, 0), last(50, 0), cube(50, 0);
  SeededBits bits(616);
  RealSampler sampler(bits);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    double z[3];
    ASSERT_TRUE(sampler.FillNormal(z).ok());
    const double norm = std::hypot(z[0], z[1], z[2]);
    ++heights[cells.Of(z[0] / norm)];
    ++last[cells.Of(z[2] / norm)];
    ++azimuths[cells.Of(std::atan2(z[1], z[2]) / M_PI)];
    for (double& value : z) value = 2 * *sampler.Uniform() - 1;
    ++cube[cells.Of(z[0] / std::hypot(z[0], z[1], z[2]))];
  }
  EXPECT_TRUE(fit.Accepts(heights));
  EXPECT_TRUE(fit.Accepts(last));
  EXPECT_TRUE(fit.Accepts(azimuths));
  EXPECT_FALSE(fit.Accepts(cube));
}

}  // namespace
}  // namespace bandana::testing
