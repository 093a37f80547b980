// The law of the exponential selection and of the released values at sizes beyond enumeration.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/mechanisms/sparse/exponential_selection.h"
#include "common/mechanisms/sparse/sparse_release.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

constexpr int kCandidates = 60;
constexpr double kEpsilon = 0.75;
constexpr std::int64_t kSensitivity = 1000;

// Probabilities of one pick among scores 0, 170, 340, .. at exp(rate U).
std::vector<double> Law(double rate) {
  std::vector<double> law(kCandidates);
  for (int j = 0; j < kCandidates; ++j) law[j] = std::exp(rate * 170 * j);
  const double total = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& mass : law) mass /= total;
  return law;
}

TEST(SparseReleaseStatTest, SelectionFollowsTheExponentialMechanism) {
  constexpr std::uint64_t kDraws = 100'000;
  const double rate = kEpsilon / (2.0 * kSensitivity);
  const FitTest fit = *FitTest::Create(kDraws, Law(rate), AlphaOf("exponential_selection_fit"));
  // Mutants: scores weighed as if they moved one way only, and 5 % too weakly.
  EXPECT_GE(fit.PowerAtLeast(Law(2 * rate)), 0.99);
  EXPECT_GE(fit.PowerAtLeast(Law(0.95 * rate)), 0.99);
  const auto selection = *ExponentialSelection::Create(
      {.picks = 1, .rho = {kEpsilon * kEpsilon / 8}, .sensitivity = kSensitivity});
  std::vector<std::int64_t> scores(kCandidates);
  for (int j = 0; j < kCandidates; ++j) scores[j] = 170 * j;
  SeededBits bits(21);
  std::vector<std::uint64_t> counts(kCandidates, 0);
  for (std::uint64_t i = 0; i < kDraws; ++i) ++counts[selection.Pick(scores, {}, bits)->front()];
  EXPECT_TRUE(fit.Accepts(counts));
}

TEST(SparseReleaseStatTest, ValuesCarryTheStatedNoise) {
  constexpr int kReleases = 20'000;
  constexpr int kNumbers = 5;
  constexpr std::uint64_t kDraws = kReleases * kNumbers;
  const auto release = *SparseRelease::Create({.given = kNumbers, .rho = {0.1}});
  const double sigma = std::sqrt(4 * (kNumbers + 2) / 0.2);
  // P(|Z| > 1.5); a deviation 3 % off moves it by 0.007, 17 standard errors of the frequency.
  const double p = std::erfc(1.5 / std::sqrt(2.0));
  const BinomialTest beyond = *BinomialTest::Create(kDraws, p, AlphaOf("sparse_release_noise"));
  EXPECT_GE(beyond.RejectionProbability(std::erfc(1.5 / 0.97 / std::sqrt(2.0))), 0.99);
  const SparseSums sums(kNumbers);
  const std::vector<int> all = {0, 1, 2, 3, 4};
  SeededBits bits(22);
  std::uint64_t count = 0;
  for (int i = 0; i < kReleases; ++i) {
    const auto released = release.Release(sums, all, bits);
    ASSERT_TRUE(released.ok());
    for (const double value : released->sums) {
      count += std::abs(value) > 1.5 * sigma;
    }
  }
  EXPECT_TRUE(beyond.Accepts(count)) << count;
}

}  // namespace
}  // namespace bandana::testing
