#include "common/bandits/noisy_gram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/bandits/coupling.h"
#include "common/bandits/effective.h"
#include "common/bandits/statistics.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Eigen::MatrixXd Unpacked(const std::vector<double>& gram, int d) {
  Eigen::MatrixXd full(d, d);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) full(i, j) = full(j, i) = gram[PackedIndex(i, j)];
  }
  return full;
}

// V diag(values) V' for a random orthogonal V.
std::vector<double> WithEigenvalues(const std::vector<double>& values, TestRng& rng) {
  const int d = static_cast<int>(values.size());
  Eigen::MatrixXd random(d, d);
  for (int i = 0; i < d * d; ++i) random(i / d, i % d) = rng.Normal();
  const Eigen::MatrixXd v = Eigen::HouseholderQR<Eigen::MatrixXd>(random).householderQ();
  const Eigen::MatrixXd full =
      v * Eigen::Map<const Eigen::VectorXd>(values.data(), d).asDiagonal() * v.transpose();
  std::vector<double> packed;
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) packed.push_back(full(i, j));
  }
  return packed;
}

TEST(ClipToSemidefinite, LeavesADefiniteMatrixAsItIs) {
  const std::vector<double> gram = {2, -1, 3, 0.5, 0.25, 1};
  const auto clipped = ClipToSemidefinite(gram, 3);
  ASSERT_THAT(clipped, IsOk());
  EXPECT_EQ(clipped->gram, gram);
  EXPECT_EQ(clipped->eigenvalues_clipped, 0);
}

TEST(ClipToSemidefinite, ASingularGramIsNoRepair) {
  for (const std::vector<double>& gram :
       {std::vector<double>(6, 0.0), std::vector<double>{1, 2, 4, 3, 6, 9}}) {
    const auto clipped = ClipToSemidefinite(gram, 3);
    ASSERT_THAT(clipped, IsOk());
    EXPECT_EQ(clipped->eigenvalues_clipped, 0);
    for (std::size_t i = 0; i < gram.size(); ++i) EXPECT_NEAR(clipped->gram[i], gram[i], 1e-12);
  }
}

// diag(4, -1) turned by 45 degrees: [[1.5, 2.5], [2.5, 1.5]] becomes 4 times the projector on
// (1, 1) / sqrt(2), all entries 2.
TEST(ClipToSemidefinite, ReplacesANegativeEigenvalueByZero) {
  const auto clipped = ClipToSemidefinite(std::vector<double>{1.5, 2.5, 1.5}, 2);
  ASSERT_THAT(clipped, IsOk());
  EXPECT_EQ(clipped->eigenvalues_clipped, 1);
  for (const double value : clipped->gram) EXPECT_NEAR(value, 2, 1e-12);
}

TEST(ClipToSemidefinite, ANegativeMatrixBecomesZero) {
  const auto clipped = ClipToSemidefinite(std::vector<double>{-1, 0, -5}, 2);
  ASSERT_THAT(clipped, IsOk());
  EXPECT_EQ(clipped->eigenvalues_clipped, 2);
  for (const double value : clipped->gram) EXPECT_NEAR(value, 0, 1e-12);
}

// Nearest in the Frobenius norm: the distance is the length of the negative eigenvalues, and what
// the model accepts is what came out, whatever the scale.
TEST(ClipToSemidefinite, FindsTheNearestSemidefiniteMatrix) {
  TestRng rng(7);
  for (const double scale : {1e-70, 1e-6, 1.0, 1e9, 1e70}) {
    for (int trial = 0; trial < 40; ++trial) {
      const int d = 1 + trial % 12;
      std::vector<double> values(d);
      double negative = 0;
      int count = 0;
      for (double& value : values) {
        value = scale * rng.Normal() * (trial % 3 == 0 ? std::exp(8 * rng.Normal()) : 1);
        if (value < 0) negative += (value / scale) * (value / scale);
      }
      double largest = 0;
      for (const double value : values) largest = std::max(largest, std::abs(value));
      for (const double value : values) count += value < -largest * 1e-12 ? 1 : 0;
      const std::vector<double> gram = WithEigenvalues(values, rng);
      const auto clipped = ClipToSemidefinite(gram, d);
      ASSERT_THAT(clipped, IsOk());
      EXPECT_GE(clipped->eigenvalues_clipped, count);
      const Eigen::MatrixXd moved = (Unpacked(clipped->gram, d) - Unpacked(gram, d)) / scale;
      EXPECT_NEAR(moved.norm(), std::sqrt(negative), 1e-12 * d * largest / scale);
      NodeStatistics statistics{clipped->gram, std::vector<double>(d, 0.0), 1, 0};
      EXPECT_THAT(ValidateStatistics(statistics, d), IsOk());
    }
  }
}

TEST(ClipToSemidefinite, RejectsWhatIsNoMatrix) {
  EXPECT_THAT(ClipToSemidefinite(std::vector<double>{1}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, "dimension must be in"));
  EXPECT_THAT(ClipToSemidefinite(std::vector<double>{1, 2}, 2),
              StatusIs(absl::StatusCode::kInvalidArgument, "gram must have 3 entries"));
  for (const double bad : {kNan, kInfinity, -kInfinity, 1e101}) {
    EXPECT_THAT(ClipToSemidefinite(std::vector<double>{1, bad, 1}, 2),
                StatusIs(absl::StatusCode::kInvalidArgument, "gram must be finite"));
  }
}

TEST(RepairStatistics, ChargesTheNoiseOfTheGramToTheMoment) {
  const auto repaired = RepairStatistics({{1.5, 2.5, 1.5}, {3, -4}, 17, 5, 2}, 0.5);
  ASSERT_THAT(repaired, IsOk());
  EXPECT_EQ(repaired->eigenvalues_clipped, 1);
  EXPECT_EQ(repaired->statistics.events, 17);
  EXPECT_EQ(repaired->statistics.moment, (std::vector<double>{3, -4}));
  EXPECT_DOUBLE_EQ(repaired->statistics.moment_variance, 2 + 5 * 0.25);
  EXPECT_NEAR(repaired->statistics.gram[1], 2, 1e-12);
}

// With S_+ = diag(4, 0) and v the posterior knows H = 16 / (4 s2 + v) along the first axis and
// nothing along the second.
TEST(RepairStatistics, AModelTakesUpWhatItMakes) {
  auto model =
      BanditModel::Create({.dimension = 2, .observation_variance = 0.5}, Coupling::Shared());
  ASSERT_THAT(model, IsOk());
  const auto repaired = RepairStatistics({{4, 0, -3}, {2, 7}, 9, 1, 1}, 1);
  ASSERT_THAT(repaired, IsOk());
  ASSERT_THAT((*model)->SetReleased(0, repaired->statistics), IsOk());
  (*model)->Refresh();
  const NodePosterior posterior = (*model)->Posterior(0);
  EXPECT_NEAR(posterior.covariance[0], 1 / (1 + 16.0 / (4 * 0.5 + 2)), 1e-12);
  EXPECT_NEAR(posterior.covariance[3], 1, 1e-12);
  EXPECT_NEAR(posterior.mean[0], 4 * 2.0 / (4 * 0.5 + 2) / (1 + 16.0 / (4 * 0.5 + 2)), 1e-12);
  EXPECT_NEAR(posterior.mean[1], 0, 1e-12);
}

TEST(RepairStatistics, NamesTheFieldThatIsWrong) {
  const NoisyStatistics good{{1, 0, 1}, {0, 0}, 1, 1, 1};
  const auto error = [&good](auto change, double theta = 1) {
    NoisyStatistics bad = good;
    change(bad);
    return RepairStatistics(bad, theta).status();
  };
  const auto refuses = [](const absl::Status& status, const char* text) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  for (const double bad : {kNan, -1.0, kInfinity}) {
    refuses(error([](auto&) {}, bad), "theta_l2_max must be in");
    refuses(error([bad](auto& s) { s.gram_variance = bad; }), "gram_variance must be in");
    refuses(error([bad](auto& s) { s.moment_variance = bad; }), "moment_variance must be in");
  }
  refuses(error([](auto& s) { s.gram_variance = 1e29; }, 1e3), "moment_variance must be in");
  refuses(error([](auto& s) { s.moment[1] = kNan; }), "moment must be finite");
  refuses(error([](auto& s) { s.gram[1] = kNan; }), "gram must be finite");
  refuses(error([](auto& s) { s.moment.pop_back(); }), "gram must have 1 entries");
  refuses(error([](auto& s) { s.moment.clear(); }), "dimension must be in");
  EXPECT_THAT(RepairStatistics(good, 1), IsOk());
}

}  // namespace
}  // namespace bandana::testing
