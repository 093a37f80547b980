// Reports of privunit against their law: t = <u, v> over cells, the mean and the energy of the
// estimates, and mutants. Seeds are fixed: the run is deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

#include "common/mechanisms/privunit.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/cap_moment.h"
#include "tests/support/privunit_mutants.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

// An event, its v, and privunit for it; scales 1.
struct Setting {
  int dimension;
  double epsilon;
  std::vector<double> x;
  double r;
  std::uint64_t draws;
  std::uint64_t seed;

  JointStatistic phi() const { return *JointStatistic::Create({.dimension = dimension}); }
  PrivUnit privunit() const { return *PrivUnit::Create(phi(), {epsilon}); }
};

std::vector<Setting> Settings() {
  std::vector<double> sparse(10, 0.0);
  sparse[0] = sparse[3] = 0.5;
  return {{2, 2, {0.6, -0.8}, 1, 60'000, 651},  // |phi|^2 = 2: no lift
          {2, 0.5, {0.3, 0.4}, -1, 60'000, 652},
          {10, 1, sparse, 0.5, 30'000, 653}};
}

// phi without its packing: the Frobenius product with an estimate.
double Product(const Setting& s, const JointEstimate& estimate) {
  double sum = 0;
  for (int i = 0; i < s.dimension; ++i) {
    sum += estimate.moment[i] * s.r * s.x[i];
    for (int j = 0; j < s.dimension; ++j) {
      const int row = std::max(i, j), column = std::min(i, j);
      sum += estimate.gram[row * (row + 1) / 2 + column] * s.x[i] * s.x[j];
    }
  }
  return sum;
}

double SquaredNorm(const Setting& s, const JointEstimate& estimate) {
  double sum = 0;
  for (int i = 0, next = 0; i < s.dimension; ++i) {
    sum += estimate.moment[i] * estimate.moment[i];
    for (int j = 0; j <= i; ++j, ++next) {
      sum += (i == j ? 1 : 2) * estimate.gram[next] * estimate.gram[next];
    }
  }
  return sum;
}

double SquaredNormOfPhi(const Setting& s) {
  const double square = std::inner_product(s.x.begin(), s.x.end(), s.x.begin(), 0.0);
  return square * square + s.r * s.r * square;
}

// P(|mean - expected| >= result) <= alpha for `draws` values in a range of length `range` and
// variance at most `variance`: Bernstein's inequality, exact at every sample size.
double Bernstein(std::uint64_t draws, double variance, double range, double alpha) {
  const double log = std::log(2 / alpha) / static_cast<double>(draws);
  const double linear = range * log / 3;
  return linear + std::sqrt(linear * linear + 2 * variance * log);
}

constexpr int kCellsBeside = 20;
// kCellsBeside cells of t on each side of g; uniform direction.
Law UniformLaw(const CapDesign& design) {
  const double g = design.threshold;
  const auto below = [&](double t) {
    return t < 0 ? CapMass(design.n, -t) : 1 - CapMass(design.n, t);
  };
  Law law;
  double last = 0;
  for (int i = 1; i <= 2 * kCellsBeside; ++i) {
    const double t = i <= kCellsBeside ? -1 + (1 + g) * i / kCellsBeside
                                       : g + (1 - g) * (i - kCellsBeside) / kCellsBeside;
    const double next = i == 2 * kCellsBeside ? 1 : below(t);
    law.push_back(next - last);
    last = next;
  }
  return law;
}

std::size_t CellOf(double t, double g) {
  const double cell =
      t < g ? (t + 1) / (1 + g) * kCellsBeside : kCellsBeside + (t - g) / (1 - g) * kCellsBeside;
  return static_cast<std::size_t>(std::clamp(cell, 0.0, 2 * kCellsBeside - 1.0));
}

struct Sample {
  std::vector<std::uint64_t> cells = std::vector<std::uint64_t>(2 * kCellsBeside, 0);
  double product = 0;  // means over the draws
  double energy = 0;
};

Sample Draw(const Setting& s) {
  const JointStatistic phi = s.phi();
  const PrivUnit privunit = s.privunit();
  const CapDesign& design = privunit.design();
  const ClippedStatistics clipped = phi.Clip(RawInteraction(s.x, s.r));
  const double square = SquaredNormOfPhi(s);
  const double lift = std::sqrt(std::max(0.0, 1 - square / 2));
  const double factor = std::numbers::sqrt2 / design.mean;
  Sample sample;
  SeededBits bits(s.seed);
  for (std::uint64_t i = 0; i < s.draws; ++i) {
    const PublicSeed seed = privunit.Randomize(clipped, bits)->seed();
    const JointEstimate estimate = *privunit.Decode(seed);
    const double product = Product(s, estimate), norm = SquaredNorm(s, estimate);
    sample.product += product;
    sample.energy += norm - 2 * product + square;
    // The direction's last coordinate is what the norm leaves, up to a sign that only the lift
    // sees; where there is no lift t is known.
    if (lift < 1e-6) {
      ++sample.cells[CellOf(product / factor / std::numbers::sqrt2, design.threshold)];
    }
  }
  sample.product /= static_cast<double>(s.draws);
  sample.energy /= static_cast<double>(s.draws);
  return sample;
}

TEST(PrivUnitStatTest, DirectionsFollowTheCapLaw) {
  const Setting s = Settings()[0];
  const CapDesign design = s.privunit().design();
  const Law uniform = UniformLaw(design);
  const FitTest fit = *FitTest::Create(s.draws, testing::CapLaw(uniform, kCellsBeside, s.epsilon),
                                       AlphaOf("privunit_cap"));
  EXPECT_TRUE(fit.Accepts(Draw(s).cells));
}

TEST(PrivUnitStatTest, MutantsAreRejected) {
  const Setting s = Settings()[0];
  const CapDesign design = s.privunit().design();
  const Law uniform = UniformLaw(design);
  const FitTest fit = *FitTest::Create(s.draws, testing::CapLaw(uniform, kCellsBeside, s.epsilon),
                                       AlphaOf("privunit_mutants"));
  SeededBits bits(654);
  for (const Law& mutant : {testing::AcceptsTooOften(uniform, kCellsBeside, s.epsilon),
                            testing::AcceptsHalfEpsilon(uniform, kCellsBeside, s.epsilon)}) {
    EXPECT_GE(fit.PowerAtLeast(mutant), 0.99);
    EXPECT_FALSE(fit.Accepts(testing::SampleCounts(mutant, s.draws, bits)));
  }
}

TEST(PrivUnitStatTest, EstimatesAreUnbiasedAndHaveTheEnergyStated) {
  for (const Setting& s : Settings()) {
    SCOPED_TRACE(s.seed);
    const PrivUnit privunit = s.privunit();
    const CapDesign& design = privunit.design();
    const double square = SquaredNormOfPhi(s), m = design.mean, n = design.n;
    const Sample sample = Draw(s);
    // <estimate, phi> has mean |phi|^2, lies in +-|phi| sqrt(2)/m, variance as stated.
    const double tolerance = Bernstein(s.draws, square * 2 * design.Variance(),
                                       2 * std::sqrt(2 * square) / m, AlphaOf("privunit_mean") / 3);
    EXPECT_NEAR(sample.product, square, tolerance);
    // Mutant: m of the cap alone.
    const double wrong =
        testing::ForgetsComplement(CapMoment(design.n, design.threshold), design.mass);
    EXPECT_GT(square - square * m / wrong, 2 * tolerance);
    EXPECT_GT(std::abs(sample.product * m / wrong - square), tolerance);
    // The energy is a quadratic in u within [0, (sqrt(2)/m + |phi|)^2]: with a = sqrt(2)/m it is
    // a^2 (1 - u_n^2) - 2 a <u, phi> + |phi|^2, whose variance is at most
    // 2 (a^4 E u_n^4 + 4 a^2 E <u, phi>^2), and E u_n^4 <= E u_n^2.
    const double a = std::numbers::sqrt2 / m;
    const double second = std::max(testing::SecondMoment(design), 1 / n);
    const double energy_tolerance =
        Bernstein(s.draws, 2 * (std::pow(a, 4) * second + 4 * a * a * second * square),
                  std::pow(a + std::sqrt(square), 2), AlphaOf("privunit_energy") / 6);
    EXPECT_NEAR(sample.energy, 2 * design.Variance() * (n - 1), energy_tolerance);
    EXPECT_LT(energy_tolerance, 0.25 * sample.energy);
  }
}

// 815.7 / 207.6 / 36.7 of noise, planned as 818 / 210 / 38.7; d = 10.
TEST(PrivUnitStatTest, NoiseEnergyAtDimensionTen) {
  const struct {
    double epsilon, noise;
    std::uint64_t draws, seed;
  } kRows[] = {{1, 815.7, 6000, 655}, {2, 207.6, 6000, 656}, {5, 36.70, 5000, 657}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.epsilon);
    const Setting s{10, row.epsilon, std::vector<double>(10, 0.0), 0, row.draws, row.seed};
    const CapDesign design = s.privunit().design();
    const double energy = Draw(s).energy;
    EXPECT_NEAR(energy / row.noise, 1, 0.03);
    // phi = 0: (2 / m^2)(1 - t^2), and Var t^2 <= E t^2.
    const double unit = 2 / (design.mean * design.mean);
    EXPECT_NEAR(
        energy / unit, 1 - testing::SecondMoment(design),
        Bernstein(row.draws, testing::SecondMoment(design), 1, AlphaOf("privunit_energy") / 6));
  }
}

}  // namespace
}  // namespace bandana::testing
