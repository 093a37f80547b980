// Sums of clipped rows: their sensitivity, their value, and what a release refuses.
#include "common/mechanisms/sparse/sparse_release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr int kDimension = 7;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr SparseSums::Clip kClip = {.context_abs_max = 0.5, .residual_abs_max = 2};

std::vector<int> All() {
  std::vector<int> all(kDimension);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Every coordinate and the count, under the same noise each time: differences are exact.
ReleasedSums ReleaseAll(const SparseSums& sums, double rho = 1) {
  const auto release = *SparseRelease::Create({.given = kDimension, .rho = {rho}});
  SeededBits bits(11);
  return *release.Release(sums, All(), bits);
}

struct Row {
  std::vector<double> x;
  double residual;
};

std::vector<Row> HostileRows(TestRng& rng) {
  const double odd[] = {0, -0.0, 1e-300, 0.5, -0.5, 1e300, -1e300, kInf, -kInf, kNan, 2, -2};
  const auto number = [&] { return rng.Index(2) == 0 ? rng.Normal() : odd[rng.Index(12)]; };
  std::vector<Row> rows;
  for (int i = 0; i < 200; ++i) {
    Row row{std::vector<double>(kDimension), number()};
    for (double& value : row.x) value = number();
    rows.push_back(row);
  }
  rows.push_back({std::vector<double>(kDimension, kInf), kInf});
  rows.push_back({std::vector<double>(kDimension, kInf), -kInf});
  return rows;
}

TEST(SparseSumsTest, OneRowMovesASumByAtMostTwoCountAndEnergyByAtMostOne) {
  TestRng rng(1);
  const std::vector<Row> rows = HostileRows(rng);
  double largest = 0;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    for (const std::size_t k : {i + 1, rows.size() - 1}) {
      SparseSums one(kDimension), other(kDimension);
      one.Add(rows[0].x, rows[0].residual, 0, kClip);
      other.Add(rows[0].x, rows[0].residual, 0, kClip);
      one.Add(rows[i].x, rows[i].residual, rows[i].x[0], kClip);
      other.Add(rows[k].x, rows[k].residual, rows[k].x[0], kClip);
      const ReleasedSums a = ReleaseAll(one), b = ReleaseAll(other);
      for (int j = 0; j < kDimension; ++j) {
        largest = std::max(largest, std::abs(a.sums[j] - b.sums[j]));
      }
      EXPECT_LE(std::abs(a.unclipped - b.unclipped), 1);
      EXPECT_LE(std::abs(a.energy - b.energy), 1);
    }
  }
  EXPECT_EQ(largest, 2);  // reached: the sensitivity is not smaller than it has to be
}

TEST(SparseSumsTest, SumsAreThoseOfClippedRows) {
  TestRng rng(2);
  SparseSums sums(kDimension);
  std::vector<double> expected(kDimension, 0);
  double unclipped = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<double> x(kDimension);
    for (double& value : x) value = rng.Normal();
    const double residual = 3 * rng.Normal();
    sums.Add(x, residual, 0.25, kClip);
    for (int j = 0; j < kDimension; ++j) {
      expected[j] += std::clamp(x[j] / 0.5, -1.0, 1.0) * std::clamp(residual / 2, -1.0, 1.0);
    }
    unclipped += std::abs(residual) <= 2;
  }
  const ReleasedSums released = ReleaseAll(sums, 1e6);
  EXPECT_EQ(released.rows, 500);
  // Rounding: 2^-9 and 2^-11 a row at most, of random sign; noise: 0.004.
  for (int j = 0; j < kDimension; ++j) EXPECT_NEAR(released.sums[j], expected[j], 0.2);
  EXPECT_NEAR(released.unclipped, unclipped, 0.02);
  EXPECT_NEAR(released.energy, 125, 0.02);
}

TEST(SparseSumsTest, NanCountsAsZero) {
  SparseSums sums(kDimension);
  sums.Add(std::vector<double>(kDimension, kNan), 1, 0, kClip);
  sums.Add(std::vector<double>(kDimension, 1), kNan, 0, kClip);
  SparseSums zeros(kDimension);
  zeros.Add(std::vector<double>(kDimension, 0), 1, 0, kClip);
  zeros.Add(std::vector<double>(kDimension, 0), 5, 0, kClip);
  EXPECT_EQ(ReleaseAll(sums).sums, ReleaseAll(zeros).sums);
  EXPECT_EQ(ReleaseAll(sums).unclipped, ReleaseAll(zeros).unclipped);
}

TEST(SparseSumsTest, ClearForgetsEveryRow) {
  SparseSums sums(kDimension);
  sums.Add(std::vector<double>(kDimension, 1), 1, 0, kClip);
  sums.Clear();
  EXPECT_EQ(sums.rows(), 0);
  EXPECT_EQ(ReleaseAll(sums).sums, ReleaseAll(SparseSums(kDimension)).sums);
}

TEST(SparseReleaseTest, NoiseIsThatOfTheStatedRho) {
  // Delta_2^2 = 4 a number; sigma^2 = Delta_2^2 / (2 rho), rho halved where coordinates are picked.
  const auto stddev = [](int given, int picks, double rho, bool count) {
    return SparseRelease::Create({.given = given, .picks = picks, .rho = {rho}, .scales = count})
        ->stddev();
  };
  EXPECT_NEAR(stddev(5, 0, 0.1, true), std::sqrt(4 * 7 / 0.2), 1e-9);
  EXPECT_NEAR(stddev(3, 2, 0.1, true), std::sqrt(4 * 7 / 0.1), 1e-9);
  EXPECT_NEAR(stddev(0, 10, 0.1, false), std::sqrt(4 * 10 / 0.1), 1e-9);
  EXPECT_NEAR(stddev(0, 0, 0.1, true), std::sqrt(4 * 2 / 0.2), 1e-9);
}

TEST(SparseReleaseTest, DescriptorSaysWhatIsSpent) {
  const auto release = *SparseRelease::Create({.picks = 4, .rho = {0.25}});
  EXPECT_EQ(release.descriptor().label, GuaranteeLabel::kProven);
  ASSERT_TRUE(release.descriptor().cost.rho.has_value());
  EXPECT_GE(release.descriptor().cost.rho->value, 0.25);
  EXPECT_LE(release.descriptor().cost.rho->value, 0.25 * (1 + 1e-12));
}

TEST(SparseReleaseTest, GivenCoordinatesComeFirstAndAreNotPickedAgain) {
  SparseSums sums(kDimension);
  std::vector<double> x(kDimension, 0);
  x[2] = x[5] = 1;
  for (int i = 0; i < 10'000; ++i) sums.Add(x, 2, 0, kClip);
  SeededBits bits(5);
  const auto release = *SparseRelease::Create({.given = 1, .picks = 1, .rho = {1}});
  const ReleasedSums released = *release.Release(sums, std::vector<int>{5}, bits);
  EXPECT_EQ(released.coordinates, (std::vector<int>{5, 2}));
}

TEST(SparseReleaseTest, RefusesBadOptions) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto create = [](SparseRelease::Options options) { return SparseRelease::Create(options); };
  EXPECT_THAT(create({.given = -1, .rho = {1}}), StatusIs(kInvalid, "given must be"));
  EXPECT_THAT(create({.picks = -1, .rho = {1}}), StatusIs(kInvalid, "picks must be"));
  for (const double rho : {0.0, -1.0, kNan, kInf}) {
    EXPECT_THAT(create({.picks = 1, .rho = {rho}}), StatusIs(kInvalid, "rho must be"));
  }
  EXPECT_THAT(create({.picks = 10, .rho = {1e-6}}), StatusIs(kInvalid, "rho must be at least"));
  EXPECT_THAT(create({.rho = {1}, .scales = false}), StatusIs(kInvalid, "must not all be 0"));
}

TEST(SparseReleaseTest, RefusesOtherCoordinatesAndDrawsNothing) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  FailingBits dry(0);
  const SparseSums sums(kDimension);
  const auto two = *SparseRelease::Create({.given = 2, .rho = {1}});
  for (const std::vector<int>& given : {std::vector<int>{1}, {1, 1}, {-1, 1}, {1, kDimension}}) {
    EXPECT_THAT(two.Release(sums, given, dry), StatusIs(kInvalid, "given must be"));
  }
  const auto eight = *SparseRelease::Create({.picks = kDimension + 1, .rho = {1}});
  EXPECT_THAT(eight.Release(sums, {}, dry), StatusIs(kInvalid, "picks must be at most"));
  EXPECT_THAT(two.Release(sums, std::vector<int>{1, 2}, dry),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(SparseSumsTest, SealedSumsReleaseTheSame) {
  SparseSums sums(kDimension);
  TestRng rng(5);
  for (const Row& row : HostileRows(rng)) sums.Add(row.x, row.residual, 0.5, kClip);
  const SealedState sealed = sums.Seal();
  EXPECT_EQ(sealed.bytes().size(), (3 + kDimension) * 8);
  const SparseSums back = *SparseSums::Restore(kDimension, sealed.bytes());
  EXPECT_EQ(back.rows(), sums.rows());
  EXPECT_EQ(ReleaseAll(back).sums, ReleaseAll(sums).sums);
  EXPECT_EQ(ReleaseAll(back).unclipped, ReleaseAll(sums).unclipped);
  EXPECT_EQ(ReleaseAll(back).energy, ReleaseAll(sums).energy);
  EXPECT_THAT(SparseSums::Restore(kDimension + 1, sealed.bytes()),
              StatusIs(absl::StatusCode::kDataLoss, "sparse sums: 80 bytes for 8 coordinates"));
  EXPECT_THAT(SparseSums::Restore(kDimension, sealed.bytes().subspan(1)),
              StatusIs(absl::StatusCode::kDataLoss, "sparse sums: 79 bytes for 7 coordinates"));
}

}  // namespace
}  // namespace bandana::testing
