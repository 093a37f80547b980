// Every instruction set's quadratic forms against plain loops.
#include "common/linalg/quadratic_forms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/test_rng.h"

namespace bandana {
namespace {

using testing::TestRng;

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
    for (int a = 1; a < n; ++a) {
      ASSERT_EQ(means[a], means[0]);
      ASSERT_EQ(squares[a], squares[0]);
    }
  }
}

}  // namespace
}  // namespace bandana
