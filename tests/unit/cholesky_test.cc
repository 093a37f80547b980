#include "common/linalg/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/test_rng.h"

namespace bandana {
namespace {

using testing::TestRng;

// floor I + G G' with G n x rank of entries in [-1, 1].
std::vector<double> RandomPsd(int n, int rank, double floor, TestRng& rng) {
  std::vector<double> g(static_cast<std::size_t>(n) * rank);
  for (double& x : g) x = 2 * rng.Uniform() - 1;
  std::vector<double> a(static_cast<std::size_t>(n) * n, 0.0);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < rank; ++l) a[i * n + j] += g[i * rank + l] * g[j * rank + l];
    }
    a[i * n + i] += floor;
  }
  return a;
}

TEST(Cholesky, FactorTimesItsTransposeIsTheMatrix) {
  TestRng rng(1);
  for (int n : {1, 2, 63, 64, 65, 150}) {
    const std::vector<double> a = RandomPsd(n, n + 3, 1, rng);
    std::vector<double> l = a;
    EXPECT_EQ(CholeskyInPlace(l.data(), n, 1), 0);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) {
        double sum = 0;
        for (int k = 0; k <= j; ++k) sum += l[i * n + k] * l[j * n + k];
        ASSERT_NEAR(sum, a[i * n + j], 1e-13 * n * n) << n << " " << i << " " << j;
      }
      for (int j = i + 1; j < n; ++j) ASSERT_EQ(l[i * n + j], a[i * n + j]) << "above the diagonal";
    }
  }
}

TEST(Cholesky, PivotLostToRoundingBecomesTheFloorWithoutAColumn) {
  // 1e20 + 1 is 1e20 in double: the second pivot of [1e20 1e20; 1e20 1e20] + I is computed as 0.
  std::vector<double> a = {1e20, 0, 1e20, 1e20};
  EXPECT_EQ(CholeskyInPlace(a.data(), 2, 1), 1);
  EXPECT_EQ(a[3], 1);
  // The same in the first of two blocks: rows below the lost pivot have nothing in its column.
  const int n = 70;
  std::vector<double> b(n * n, 1e20);
  EXPECT_EQ(CholeskyInPlace(b.data(), n, 1), n - 1);
  EXPECT_EQ(b[65 * n + 1], 0);
  EXPECT_EQ(b[65 * n], 1e10);
}

TEST(Cholesky, NanPivotIsReplaced) {
  std::vector<double> a = {std::nan("")};
  EXPECT_EQ(CholeskyInPlace(a.data(), 1, 1), 1);
  EXPECT_EQ(a[0], 1);
}

TEST(Cholesky, SolveLowerInvertsTheFactor) {
  const std::vector<double> l = {2, 0, 3, 4};
  std::vector<double> y = {2, 11};  // L (1, 2)'
  SolveLower(l.data(), 2, y.data());
  EXPECT_DOUBLE_EQ(y[0], 1);
  EXPECT_DOUBLE_EQ(y[1], 2);
}

TEST(Cholesky, InverseTimesTheMatrixIsTheIdentity) {
  TestRng rng(2);
  for (int n : {1, 20, 130}) {
    const std::vector<double> a = RandomPsd(n, n, 1, rng);
    std::vector<double> inverse = a;
    InvertInPlace(inverse, n, 1);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * inverse[k * n + j];
        ASSERT_NEAR(sum, i == j, 1e-10);
        ASSERT_EQ(inverse[i * n + j], inverse[j * n + i]);
      }
    }
  }
}

TEST(FactorSemidefinite, FindsTheRankAndReproducesTheMatrix) {
  TestRng rng(3);
  for (int rank : {0, 1, 5, 30}) {
    const int n = 30;
    const std::vector<double> p = RandomPsd(n, rank, 0, rng);
    const SemidefiniteFactor factor = FactorSemidefinite(p, n);
    EXPECT_EQ(factor.rank, rank);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int k = 0; k < factor.rank; ++k)
          sum += factor.c[i * factor.rank + k] * factor.c[j * factor.rank + k];
        ASSERT_NEAR(sum, p[i * n + j], 1e-13);
      }
    }
  }
}

}  // namespace
}  // namespace bandana
