#include "common/bandits/context_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

using Vector = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ContextStatistics, AddsEstimatesAndTheirVariances) {
  NoisyStatistics sum = NoReports(2);
  EXPECT_EQ(sum.gram, Vector(3, 0.0));
  EXPECT_EQ(sum.moment, Vector(2, 0.0));
  ASSERT_THAT(AddReport(Vector{1, 2, 3}, Vector{4, 5}, {0.5, 0.25}, sum), IsOk());
  // Another mechanism's report.
  ASSERT_THAT(AddReport(Vector{-3, 1, 0}, Vector{0, -7}, {2, 0}, sum), IsOk());
  EXPECT_EQ(sum.gram, (Vector{-2, 3, 3}));
  EXPECT_EQ(sum.moment, (Vector{4, -2}));
  EXPECT_EQ(sum.events, 2u);
  EXPECT_EQ(sum.gram_variance, 2.5);
  EXPECT_EQ(sum.moment_variance, 0.25);
}

// The Gram matrix of noise alone has negative eigenvalues: repaired, counted.
TEST(ContextStatistics, RepairCountsWhatIsNotSemidefinite) {
  NoisyStatistics sum = NoReports(2);
  ASSERT_THAT(AddReport(Vector{-1, 0, 4}, Vector{1, 1}, {3, 2}, sum), IsOk());
  const auto repaired = RepairStatistics(sum, 2);
  ASSERT_THAT(repaired, IsOk());
  EXPECT_EQ(repaired->eigenvalues_clipped, 1);
  EXPECT_NEAR(repaired->statistics.gram[0], 0, 1e-12);
  EXPECT_NEAR(repaired->statistics.gram[2], 4, 1e-12);
  EXPECT_EQ(repaired->statistics.moment_variance, 2 + 3 * 4);
}

TEST(ContextStatistics, RefusesBadReportsAndKeepsTheSum) {
  NoisyStatistics sum = NoReports(2);
  ASSERT_THAT(AddReport(Vector{1, 2, 3}, Vector{4, 5}, {1, 1}, sum), IsOk());
  const struct {
    Vector gram, moment;
    ReportVariance variance;
  } kRows[] = {{{1, 2}, {4, 5}, {}},
               {{1, 2, 3}, {4, 5, 6}, {}},
               {{}, {}, {}},
               {{1, kNan, 3}, {4, 5}, {}},
               {{1, 2, 3}, {kInfinity, 5}, {}},
               {{1, 2, 3e101}, {4, 5}, {}},
               {{1, 2, 3}, {4, 5}, {-1, 0}},
               {{1, 2, 3}, {4, 5}, {0, kNan}},
               {{1, 2, 3}, {4, 5}, {2e30, 0}}};
  for (const auto& row : kRows) {
    EXPECT_THAT(AddReport(row.gram, row.moment, row.variance, sum),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_EQ(sum.events, 1u);
  EXPECT_EQ(sum.gram, (Vector{1, 2, 3}));
  EXPECT_EQ(sum.moment_variance, 1);
}

TEST(ContextStatistics, ErrorsQuoteNoEntry) {
  NoisyStatistics sum = NoReports(1);
  const absl::Status status = AddReport(Vector{-1.5e123}, Vector{0}, {}, sum);
  EXPECT_EQ(status.message().find("1.5"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace bandana::testing
