// The exponential mechanism by enumeration of every bit string, and its refusals.
#include "common/mechanisms/sparse/exponential_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "tests/support/enumerate.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

// The rho at which e0 is this, a hair more for the rounding toward less.
Rho RhoFor(double epsilon, int picks) { return {picks * epsilon * epsilon / 8 * (1 + 1e-9)}; }

ExponentialSelection Make(double epsilon, int picks, std::int64_t sensitivity) {
  return *ExponentialSelection::Create(
      {.picks = picks, .rho = RhoFor(epsilon, picks), .sensitivity = sensitivity});
}

// Probability of the sequence first, then second (-1: whatever), by the definition.
double Law(const std::vector<std::int64_t>& scores, double rate, int first, int second) {
  double total = 0;
  for (const std::int64_t u : scores) total += std::exp(rate * static_cast<double>(u));
  const auto weight = [&](int j) { return std::exp(rate * static_cast<double>(scores[j])); };
  const double one = weight(first) / total;
  return second < 0 ? one : one * weight(second) / (total - weight(first));
}

TEST(ExponentialSelectionTest, OnePickHasTheStatedMasses) {
  struct Case {
    std::vector<std::int64_t> scores;
    double epsilon;
    std::int64_t sensitivity;
  };
  const Case cases[] = {{{0, 1, 3}, 1, 1}, {{2, 2}, 1, 1}, {{0, 4}, 0.5, 1}, {{5, 0, 1, 5}, 1, 3}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.sensitivity);
    const ExponentialSelection selection = Make(one.epsilon, 1, one.sensitivity);
    EXPECT_EQ(selection.epsilon_per_pick().value, one.epsilon);
    const Enumeration law = EnumerateBits(22, [&](BitSource& bits) -> absl::StatusOr<std::int64_t> {
      const auto picked = selection.Pick(one.scores, {}, bits);
      if (!picked.ok()) return picked.status();
      return picked->front();
    });
    const double rate = one.epsilon / (2.0 * static_cast<double>(one.sensitivity));
    for (int j = 0; j < static_cast<int>(one.scores.size()); ++j) {
      EXPECT_TRUE(Allows(law, j, Law(one.scores, rate, j, -1))) << j;
      // Mutant: the scale of scores that move one way only, half as wide.
      if (one.scores.size() == 3) {
        EXPECT_FALSE(Allows(law, j, Law(one.scores, 2 * rate, j, -1))) << j;
      }
    }
    EXPECT_LT(std::ldexp(static_cast<double>(law.undecided), -law.depth_bits), 0.08);
  }
}

TEST(ExponentialSelectionTest, TwoPicksAreDrawnWithoutReplacement) {
  const std::vector<std::int64_t> scores = {0, 2, 1};
  const ExponentialSelection selection = Make(1, 2, 1);
  const Enumeration law = EnumerateBits(22, [&](BitSource& bits) -> absl::StatusOr<std::int64_t> {
    const auto picked = selection.Pick(scores, {}, bits);
    if (!picked.ok()) return picked.status();
    return (*picked)[0] * 10 + (*picked)[1];
  });
  for (int first = 0; first < 3; ++first) {
    for (int second = 0; second < 3; ++second) {
      const double mass = first == second ? 0 : Law(scores, 0.5, first, second);
      EXPECT_TRUE(Allows(law, first * 10 + second, mass)) << first << second;
    }
  }
  EXPECT_LT(std::ldexp(static_cast<double>(law.undecided), -law.depth_bits), 0.1);
}

TEST(ExponentialSelectionTest, ExcludedPositionsAreNeverPicked) {
  SeededBits bits(3);
  const std::vector<std::int64_t> scores = {1'000'000, 0, 0, 1'000'000, 0};
  for (int i = 0; i < 100; ++i) {
    const auto picked = *Make(1, 3, 1).Pick(scores, std::vector<int>{0, 3}, bits);
    EXPECT_EQ(std::set<int>(picked.begin(), picked.end()), (std::set<int>{1, 2, 4}));
  }
}

TEST(ExponentialSelectionTest, FarBestCoordinateIsFoundAmongMany) {
  SeededBits bits(4);
  std::vector<std::int64_t> scores(4000, 0);
  scores[1234] = 1'000;
  EXPECT_EQ(Make(1, 1, 1).Pick(scores, {}, bits)->front(), 1234);
}

TEST(ExponentialSelectionTest, RhoIsNeverMoreThanAsked) {
  for (const double rho : {1e-9, 0.001, 0.05, 0.3, 7.0, 100.0}) {
    for (const int picks : {1, 3, 10}) {
      const auto selection = *ExponentialSelection::Create({.picks = picks, .rho = {rho}});
      EXPECT_LE(selection.rho().value, rho);
      EXPECT_GE(selection.rho().value, rho * (rho < 1e-6 ? 0.9 : 0.999));
    }
  }
}

TEST(ExponentialSelectionTest, RefusesBadOptions) {
  const auto create = [](int picks, double rho, std::int64_t sensitivity) {
    return ExponentialSelection::Create({.picks = picks, .rho = {rho}, .sensitivity = sensitivity});
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(create(0, 1, 1), StatusIs(kInvalid, "picks must be"));
  EXPECT_THAT(create(1, 1, 0), StatusIs(kInvalid, "sensitivity must be"));
  for (const double rho : {0.0, -1.0, kNan, 1e9, 1e-20}) {
    EXPECT_THAT(create(1, rho, 1), StatusIs(kInvalid, "sqrt(8 rho / picks) must be")) << rho;
  }
}

TEST(ExponentialSelectionTest, RefusesMorePicksThanPositionsAndDrawsNothing) {
  FailingBits dry(0);
  const std::vector<std::int64_t> scores = {1, 2, 3};
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Make(1, 4, 1).Pick(scores, {}, dry), StatusIs(kInvalid, "picks must be at most"));
  EXPECT_THAT(Make(1, 3, 1).Pick(scores, std::vector<int>{1}, dry), StatusIs(kInvalid, "picks"));
  EXPECT_THAT(Make(1, 1, 1).Pick(scores, std::vector<int>{3}, dry), StatusIs(kInvalid, "excluded"));
  EXPECT_THAT(Make(1, 1, 1).Pick(scores, std::vector<int>{-1}, dry),
              StatusIs(kInvalid, "excluded"));
  EXPECT_THAT(Make(1, 1, 1).Pick({}, {}, dry), StatusIs(kInvalid, "picks must be at most"));
  EXPECT_THAT(Make(1, 1, 1).Pick(scores, {}, dry), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace bandana::testing
