#include "common/linalg/symmetric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

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

std::vector<double> RandomMatrix(int rows, int columns, TestRng& rng) {
  std::vector<double> v(static_cast<std::size_t>(rows) * columns);
  for (double& x : v) x = 2 * rng.Uniform() - 1;
  return v;
}

TEST(Symmetric, FactorTimesItsTransposeIsTheMatrix) {
  TestRng rng(1);
  for (int n : {1, 2, 8, 9, 65, 150}) {
    const std::vector<double> a = RandomPsd(n, n + 3, 1, rng);
    std::vector<double> l = a;
    EXPECT_EQ(FactorWithFloor(l.data(), n, 1), 0);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) {
        double sum = 0;
        for (int k = 0; k <= j; ++k) sum += l[i * n + k] * l[j * n + k];
        ASSERT_NEAR(sum, a[i * n + j], 1e-13 * n * n) << n << " " << i << " " << j;
      }
    }
  }
}

TEST(Symmetric, PivotLostToRoundingBecomesTheFloorWithoutAColumn) {
  // 1e20 + 1 is 1e20 in double: the second pivot of [1e20 1e20; 1e20 1e20] + I is computed as 0.
  std::vector<double> a = {1e20, 0, 1e20, 1e20};
  EXPECT_EQ(FactorWithFloor(a.data(), 2, 1), 1);
  EXPECT_EQ(a[3], 1);
  // As above in the first of two blocks: rows below the lost pivot have nothing in its column.
  const int n = 70;
  std::vector<double> b(n * n, 1e20);
  EXPECT_EQ(FactorWithFloor(b.data(), n, 1), n - 1);
  EXPECT_EQ(b[65 * n + 1], 0);
  EXPECT_EQ(b[65 * n], 1e10);
}

TEST(Symmetric, NanPivotIsReplaced) {
  std::vector<double> a = {std::nan("")};
  EXPECT_EQ(FactorWithFloor(a.data(), 1, 1), 1);
  EXPECT_EQ(a[0], 1);
}

TEST(Symmetric, FactorSaysThatAPivotIsLost) {
  for (int n : {2, 70}) {
    std::vector<double> equal(n * n, 1e20);
    EXPECT_FALSE(Factor(equal.data(), n, 1)) << n;
    const auto with_pivot = [n](double pivot) {
      std::vector<double> a(n * n, 0.0);
      for (int i = 0; i < n; ++i) a[i * n + i] = i == n / 2 ? pivot : 1;
      return Factor(a.data(), n, 1);
    };
    EXPECT_FALSE(with_pivot(-1)) << n;
    EXPECT_FALSE(with_pivot(0.4)) << n;
    EXPECT_FALSE(with_pivot(std::nan(""))) << n;
    EXPECT_TRUE(with_pivot(0.6)) << n;
  }
}

TEST(Symmetric, AddOuterTouchesOnlyTheLowerTriangle) {
  TestRng rng(4);
  for (int n : {1, 3, 8, 9, 40, 65}) {
    for (int k : {1, 2, 7, 64}) {
      const std::vector<double> v = RandomMatrix(k, n, rng);
      std::vector<double> c = RandomMatrix(n, n, rng);
      const std::vector<double> before = c;
      AddOuter(-0.5, v.data(), k, n, c.data());
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          double expected = before[i * n + j];
          for (int e = 0; e < k && j <= i; ++e) expected -= 0.5 * v[e * n + i] * v[e * n + j];
          ASSERT_NEAR(c[i * n + j], expected, j <= i ? 1e-12 : 0) << n << " " << k;
        }
      }
    }
  }
}

TEST(Symmetric, SolvesInvertProductsWithTheFactor) {
  TestRng rng(5);
  for (int n : {1, 5, 8, 9, 64, 100}) {
    std::vector<double> l = RandomMatrix(n, n, rng);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j)
        l[i * n + j] = j > i ? std::nan("") : l[i * n + j] / n + 3 * (i == j);
    }
    for (int columns : {1, 2, 37}) {
      const std::vector<double> x = RandomMatrix(n, columns, rng);
      std::vector<double> y(n * columns, 0.0);
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
          for (int c = 0; c < columns; ++c) y[i * columns + c] += l[i * n + j] * x[j * columns + c];
        }
      }
      SolveLower(l.data(), n, y.data(), columns);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-12) << n;
      std::vector<double> z = x;
      MultiplyLower(l.data(), n, n, z.data(), columns);
      SolveLower(l.data(), n, z.data(), columns);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(z[i], x[i], 1e-12) << n;
    }
    const std::vector<double> x = RandomMatrix(n, 1, rng);
    std::vector<double> y(n, 0.0);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) y[j] += l[i * n + j] * x[i];
    }
    SolveUpper(l.data(), n, y.data());
    for (int i = 0; i < n; ++i) ASSERT_NEAR(y[i], x[i], 1e-12) << n;
  }
}

TEST(Symmetric, MultiplyEqualsPlainLoops) {
  TestRng rng(6);
  for (int m : {1, 4, 30}) {
    for (int n : {1, 5, 77}) {
      const int k = 12;
      const std::vector<double> a = RandomMatrix(m, k, rng);
      const std::vector<double> b = RandomMatrix(k, n, rng);
      std::vector<double> c(m * n, std::nan(""));
      Multiply(a.data(), b.data(), m, k, n, c.data());
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
          double expected = 0;
          for (int l = 0; l < k; ++l) expected += a[i * k + l] * b[l * n + j];
          ASSERT_NEAR(c[i * n + j], expected, 1e-12);
        }
      }
    }
  }
}

TEST(Symmetric, BlockProductReadsTheLowerTriangleOnly) {
  TestRng rng(7);
  for (int d : {1, 5, 25, 40, 100}) {
    const int n = 4 * d;
    std::vector<double> matrix = RandomMatrix(n, n, rng);
    std::vector<double> lower = matrix;
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j < n; ++j) {
        matrix[i * n + j] = matrix[j * n + i];
        lower[i * n + j] = std::nan("");
      }
    }
    const std::vector<double> x = RandomMatrix(1, d, rng);
    for (int first : {0, d, 3 * d}) {
      std::vector<double> out(n, std::nan(""));
      BlockProduct(lower.data(), n, first, x.data(), d, out.data());
      for (int i = 0; i < n; ++i) {
        double expected = 0;
        for (int j = 0; j < d; ++j) expected += matrix[i * n + first + j] * x[j];
        ASSERT_NEAR(out[i], expected, 1e-12) << d << " " << first << " " << i;
      }
    }
  }
}

// The promise of the header. Vectors of another alignment and other threads' calls at the same time
// would show a library that rounds by address or shares its buffers.
TEST(Symmetric, TheSameBitsAtEveryAddressAndInEveryThread) {
  TestRng rng(8);
  for (int n : {5, 25, 300}) {
    const std::vector<double> a = RandomPsd(n, n, 1, rng);
    const std::vector<double> x = RandomMatrix(1, n, rng);
    const auto run = [&](int offset) {
      std::vector<double> memory(2 * a.size() + 2 * x.size() + 4 * 8, 0.0);
      double* l = memory.data() + offset;
      double* k = l + a.size() + offset;
      double* in = k + a.size() + offset;
      double* out = in + n + offset;
      std::copy(a.begin(), a.end(), l);
      std::copy(a.begin(), a.end(), k);
      std::copy(x.begin(), x.end(), in);
      EXPECT_TRUE(Factor(l, n, 1));
      BlockProduct(k, n, n / 3, in, n / 3, out);
      SolveLower(l, n, out, 1);
      SolveUpper(l, n, out);
      AddOuter(-0.5, out, 1, n, k);
      SolveLower(l, n, k, n);
      AddOuter(2, k, n, n, l);
      std::vector<double> results(l, l + a.size());
      results.insert(results.end(), k, k + a.size());
      results.insert(results.end(), out, out + n);
      return results;
    };
    const std::vector<double> expected = run(0);
    std::vector<std::thread> threads;
    std::atomic<int> different = 0;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) different += run(t % 4 * 2 + i % 2) == expected ? 0 : 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(different, 0) << n;
  }
}

TEST(Symmetric, SolveLowerInvertsTheFactor) {
  const std::vector<double> l = {2, 0, 3, 4};
  std::vector<double> y = {2, 11};  // L (1, 2)'
  SolveLower(l.data(), 2, y.data(), 1);
  EXPECT_DOUBLE_EQ(y[0], 1);
  EXPECT_DOUBLE_EQ(y[1], 2);
}

TEST(Symmetric, InverseTimesTheMatrixIsTheIdentity) {
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
    EXPECT_EQ(factor.triangular, rank == n);
    for (int i = 0; i < n && factor.triangular; ++i) {
      for (int k = i + 1; k < n; ++k) ASSERT_EQ(factor.c[i * n + k], 0);
    }
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
}  // namespace bandana::testing
