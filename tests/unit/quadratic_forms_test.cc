// Every instruction set's quadratic forms against plain loops.
#include "common/linalg/quadratic_forms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr double kTolerance = 1e-12;  // sums of at most a few hundred products of order one

// The rows of a row-major matrix with d columns.
std::vector<const double*> RowsOf(const std::vector<double>& matrix, int d) {
  std::vector<const double*> rows;
  for (std::size_t i = 0; i < matrix.size(); i += static_cast<std::size_t>(d)) {
    rows.push_back(matrix.data() + i);
  }
  return rows;
}

std::vector<double> RandomVector(std::size_t size, TestRng& rng) {
  std::vector<double> v(size);
  for (double& x : v) x = 2 * rng.Uniform() - 1;
  return v;
}

class QuadraticFormsTest : public ::testing::TestWithParam<const QuadraticFormsKernel*> {};

INSTANTIATE_TEST_SUITE_P(InstructionSets, QuadraticFormsTest,
                         ::testing::ValuesIn(SupportedQuadraticForms().begin(),
                                             SupportedQuadraticForms().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(QuadraticForms, TheWidestSupportedVariantIsActive) {
  EXPECT_EQ(&QuadraticForms(), SupportedQuadraticForms().back());
  EXPECT_STREQ(SupportedQuadraticForms().front()->name, "baseline");
}

TEST_P(QuadraticFormsTest, EqualPlainLoopsAtEveryShape) {
  TestRng rng(5);
  for (int d : {1, 2, 7, 8, 9, 25, 64, 256}) {
    for (int n : {1, 4, 5, 8, 9, 16, 17, 25, 33}) {
      std::vector<double> matrix = RandomVector(static_cast<std::size_t>(d) * d, rng);
      for (int i = 0; i < d; ++i) {
        for (int j = 0; j < i; ++j) matrix[j * d + i] = matrix[i * d + j];
      }
      const std::vector<double> mean = RandomVector(d, rng);
      const std::vector<double> x = RandomVector(static_cast<std::size_t>(n) * d, rng);
      std::vector<double> means(n);
      std::vector<double> squares(n);
      GetParam()->compute(matrix.data(), mean.data(), d, RowsOf(x, d).data(), n, means.data(),
                          squares.data());
      for (int a = 0; a < n; ++a) {
        double expected_mean = 0;
        double expected_square = 0;
        for (int i = 0; i < d; ++i) {
          expected_mean += mean[i] * x[a * d + i];
          for (int j = 0; j < d; ++j)
            expected_square += x[a * d + i] * matrix[i * d + j] * x[a * d + j];
        }
        ASSERT_NEAR(means[a], expected_mean, kTolerance * d);
        ASSERT_NEAR(squares[a], expected_square, kTolerance * d);
      }
    }
  }
}

TEST_P(QuadraticFormsTest, OfAPackedTriangleAreThoseOfTheMatrixToTheBit) {
  TestRng rng(7);
  for (int d : {1, 2, 7, 8, 9, 25, 64, 256}) {
    for (int n : {1, 4, 5, 25}) {
      const std::vector<double> matrix = RandomVector(static_cast<std::size_t>(d) * d, rng);
      std::vector<double> packed;
      for (int i = 0; i < d; ++i) {
        for (int j = 0; j <= i; ++j) packed.push_back(matrix[i * d + j]);
      }
      const std::vector<double> mean = RandomVector(d, rng);
      const std::vector<double> x = RandomVector(static_cast<std::size_t>(n) * d, rng);
      std::vector<double> means[2] = {std::vector<double>(n), std::vector<double>(n)};
      std::vector<double> squares[2] = {std::vector<double>(n), std::vector<double>(n)};
      GetParam()->compute(matrix.data(), mean.data(), d, RowsOf(x, d).data(), n, means[0].data(),
                          squares[0].data());
      GetParam()->compute_packed(packed.data(), mean.data(), d, RowsOf(x, d).data(), n,
                                 means[1].data(), squares[1].data());
      EXPECT_EQ(means[0], means[1]) << d << " " << n;
      EXPECT_EQ(squares[0], squares[1]) << d << " " << n;
    }
  }
}

TEST_P(QuadraticFormsTest, OfFewEventsEqualPlainLoops) {
  TestRng rng(8);
  for (int d : {1, 2, 7, 8, 25, 64, 256}) {
    for (int k : {0, 1, 2, 3, 4, 5, 7, 12, 128}) {
      for (int n : {1, 4, 5, 25}) {
        std::vector<double> rows;
        std::vector<double> inverse;
        for (int e = 0; e < k; ++e) {
          const std::vector<double> row = rng.UnitVector(d);
          rows.insert(rows.end(), row.begin(), row.end());
          for (int f = 0; f <= e; ++f) inverse.push_back((2 * rng.Uniform() - 1) / (e + 1));
        }
        const std::vector<double> weights = RandomVector(k, rng);
        const std::vector<double> x = RandomVector(static_cast<std::size_t>(n) * d, rng);
        std::vector<double> means(n);
        std::vector<double> squares(n);
        const FewEvents few{k, 1.5, rows.data(), inverse.data(), weights.data()};
        GetParam()->compute_few(few, d, RowsOf(x, d).data(), n, means.data(), squares.data());
        for (int a = 0; a < n; ++a) {
          double mean = 0;
          double square = 0;
          for (int j = 0; j < d; ++j) square += x[a * d + j] * x[a * d + j];
          std::vector<double> y(k);
          for (int e = 0; e < k; ++e) {
            for (int j = 0; j < d; ++j) y[e] += rows[e * d + j] * x[a * d + j];
            mean += weights[e] * y[e];
            double z = 0;
            for (int f = 0; f <= e; ++f) z += inverse[e * (e + 1) / 2 + f] * y[f];
            square -= z * z;
          }
          ASSERT_NEAR(means[a], mean, kTolerance * (d + k)) << d << " " << k << " " << n;
          ASSERT_NEAR(squares[a], 1.5 * square, kTolerance * (d + k)) << d << " " << k << " " << n;
        }
      }
    }
  }
}

// Ties between equal arms are exact only so.
TEST_P(QuadraticFormsTest, AnArmsResultDoesNotDependOnItsPosition) {
  TestRng rng(6);
  const int d = 25;
  std::vector<double> matrix = RandomVector(d * d, rng);
  const std::vector<double> mean = RandomVector(d, rng);
  const std::vector<double> arm = RandomVector(d, rng);
  for (int n : {1, 11, 16, 20, 33}) {
    std::vector<double> x;
    for (int a = 0; a < n; ++a) x.insert(x.end(), arm.begin(), arm.end());
    std::vector<double> means(n);
    std::vector<double> squares(n);
    GetParam()->compute(matrix.data(), mean.data(), d, RowsOf(x, d).data(), n, means.data(),
                        squares.data());
    const std::vector<double> rows = RandomVector(3 * d, rng);
    const std::vector<double> inverse = RandomVector(6, rng);
    std::vector<double> means_of_few(n);
    std::vector<double> squares_of_few(n);
    GetParam()->compute_few({3, 1, rows.data(), inverse.data(), mean.data()}, d,
                            RowsOf(x, d).data(), n, means_of_few.data(), squares_of_few.data());
    for (int a = 1; a < n; ++a) {
      ASSERT_EQ(means[a], means[0]);
      ASSERT_EQ(squares[a], squares[0]);
      ASSERT_EQ(means_of_few[a], means_of_few[0]);
      ASSERT_EQ(squares_of_few[a], squares_of_few[0]);
    }
  }
}

}  // namespace
}  // namespace bandana::testing
