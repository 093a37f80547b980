// Directions drawn from privunit's law against that law, the lab's short cut against PrivUnit, and
// mutants. Seeds are fixed: the run is deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <variant>
#include <vector>

#include "common/promise/mechanism.h"
#include "common/random/real_samplers.h"
#include "research/lab/neurips20/cap_law.h"
#include "research/lab/neurips20/law_learner.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/privunit_mutants.h"
#include "tests/support/randomizer_mutants.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tests/support/status_matchers.h"

namespace bandana::lab {
namespace {

using namespace bandana::testing;

constexpr std::size_t kBeside = 16;
constexpr std::uint64_t kDraws = 60'000;

// P(t <= x) of a uniform direction.
double Below(int n, double x) { return x < 0 ? CapMass(n, -x) : 1 - CapMass(n, x); }

// Edges of kBeside cells below g and kBeside above, narrow where the density is.
std::vector<double> Edges(const CapDesign& design) {
  const double spread = 4 / std::sqrt(static_cast<double>(design.n));
  const double low = std::max(-1.0, design.threshold - spread);
  const double high = std::min(1.0, design.threshold + spread / 2);
  std::vector<double> edges;
  for (std::size_t i = 1; i <= kBeside; ++i)
    edges.push_back(low + (design.threshold - low) * static_cast<double>(i) / kBeside);
  for (std::size_t i = 1; i < kBeside; ++i)
    edges.push_back(design.threshold +
                    (high - design.threshold) * static_cast<double>(i) / kBeside);
  return edges;
}

Law UniformOver(const CapDesign& design, const std::vector<double>& edges) {
  Law law;
  double last = 0;
  for (const double edge : edges) {
    law.push_back(Below(design.n, edge) - last);
    last = Below(design.n, edge);
  }
  law.push_back(1 - last);
  return law;
}

std::vector<std::uint64_t> Count(const CapDesign& design, const std::vector<double>& edges,
                                 std::uint64_t seed) {
  SeededBits bits(seed);
  RealSampler sampler(bits);
  std::vector<std::uint64_t> cells(edges.size() + 1, 0);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double t = DrawCapCoordinate(design, sampler).value();
    // t = g belongs to the cap.
    ++cells[std::upper_bound(edges.begin(), edges.end(), t) - edges.begin()];
  }
  return cells;
}

const struct {
  int n;
  double epsilon;
  std::uint64_t seed;
} kSettings[] = {{6, 0.5, 71}, {21, 1, 72}, {21, 10, 73}, {66, 2, 74}};

TEST(CapLawStatTest, CoordinatesFollowTheLaw) {
  for (const auto& s : kSettings) {
    const CapDesign design = DesignCap(s.n, {s.epsilon}).value();
    const std::vector<double> edges = Edges(design);
    const Law law = testing::CapLaw(UniformOver(design, edges), kBeside, s.epsilon);
    const FitTest fit = *FitTest::Create(kDraws, law, AlphaOf("cap_law_fit") / 4);
    EXPECT_TRUE(fit.Accepts(Count(design, edges, s.seed))) << s.n << ", " << s.epsilon;
  }
}

TEST(CapLawStatTest, MutantsAreRejected) {
  for (const auto& s : kSettings) {
    if (s.epsilon == 10) continue;  // there e^-eps/2 and e^-eps are both nearly 0
    const CapDesign design = DesignCap(s.n, {s.epsilon}).value();
    const Law uniform = UniformOver(design, Edges(design));
    const FitTest fit = *FitTest::Create(kDraws, testing::CapLaw(uniform, kBeside, s.epsilon),
                                         AlphaOf("cap_law_mutants") / 4);
    const Law mutant = testing::AcceptsHalfEpsilon(uniform, kBeside, s.epsilon);
    EXPECT_GE(fit.PowerAtLeast(mutant), 0.99);
    SeededBits bits(s.seed);
    EXPECT_FALSE(fit.Accepts(testing::SampleCounts(mutant, kDraws, bits)));
  }
}

// Means of both ways over many reports of one event: each is phi within Bernstein's bound, and so
// is the mutant that forgets to divide by the norm not.
TEST(CapLawStatTest, LawAndSeedsEstimateTheSameEvent) {
  const std::vector<double> x = {0.48, -0.6, 0.64};
  const double reward = -0.7;
  const ContextTask task{.dimension = 3, .epsilon = {3}, .horizon = 1000};
  std::vector<ConfigError> errors;
  const auto spec =
      ParseModelConfig(ConfigOf(task, v1::PRIVUNIT), "", /*allow_files=*/false, errors);
  ASSERT_TRUE(spec);
  const ContextReports& served = *spec->public_spec.made->contexts();
  const ReportVariance variance = served.variance();
  const auto noise = LabNoise::Create(5, 1).value();
  LawReports reports = LawReports::Create(*spec, LabNoise::Create(5, 1).value()).value();
  const auto by_law = [&] { return reports.Draw(x, reward).value(); };
  const auto by_seeds = [&] {
    const auto drawn = served.Draw(served.statistic().Clip({x, reward}), *noise).value();
    const PublicSeed& seed = std::get<PerturbedDirection>(drawn).seed();
    return served.Decode({.seed = {reinterpret_cast<const char*>(seed.data()), seed.size()}})
        .value();
  };
  constexpr int kReports = 20'000;
  for (const std::function<JointEstimate()>& draw :
       {std::function<JointEstimate()>(by_law), std::function<JointEstimate()>(by_seeds)}) {
    std::vector<double> gram(6, 0.0);
    std::vector<double> moment(3, 0.0);
    double energy = 0;
    for (int i = 0; i < kReports; ++i) {
      const JointEstimate report = draw();
      for (int k = 0; k < 6; ++k) gram[k] += report.gram[k] / kReports;
      for (int k = 0; k < 3; ++k) {
        moment[k] += report.moment[k] / kReports;
        energy += std::pow(report.moment[k] - reward * x[k], 2) / kReports;
      }
    }
    // An entry of sqrt(2) u / m lies within sqrt(2) / m, off-diagonal ones of the gram within 1 /
    // m.
    const double m = DesignCap(10, {3}).value().mean;
    const double log = std::log(2 * 18 / AlphaOf("cap_law_mean")) / kReports;
    const double range = 2 * std::numbers::sqrt2 / m;
    const double tolerance =
        range * log / 3 + std::sqrt(range * range * log * log / 9 + 2 * variance.gram * log);
    int k = 0;
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(moment[i], reward * x[i], tolerance);
      for (int j = 0; j <= i; ++j, ++k) EXPECT_NEAR(gram[k], x[i] * x[j], tolerance);
    }
    EXPECT_LT(tolerance, 0.2);  // against entries of up to 0.45
    EXPECT_NEAR(energy, 3 * variance.moment, 0.1 * 3 * variance.moment);
  }
}

}  // namespace
}  // namespace bandana::lab
