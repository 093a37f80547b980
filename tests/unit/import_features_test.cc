// TF-IDF, principal components and the graph cut of bandana-import.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "Eigen/Eigenvalues"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"
#include "tools/import/partition.h"
#include "tools/import/pca.h"
#include "tools/import/tfidf.h"

namespace bandana::testing {
namespace {

TagAssignment Tagged(int user, int artist, int tag) {
  return {.user = user, .artist = artist, .tag = tag, .day = absl::CivilDay(2009, 1, 1)};
}

TEST(TfIdf, IsTheHandComputedOneOnThreeArtists) {
  // Artists 10, 20, 30; tag 1 on 10 (two users) and 20; tag 2 on 10 and 30; tag 3 on 20 alone.
  const std::vector<TagAssignment> assignments = {Tagged(1, 10, 1), Tagged(2, 10, 1),
                                                  Tagged(1, 10, 2), Tagged(1, 20, 1),
                                                  Tagged(2, 20, 3), Tagged(3, 30, 2)};
  const TfIdf tfidf = ComputeTfIdf(assignments, 1);
  EXPECT_THAT(tfidf.artists, ElementsAre(10, 20, 30));
  EXPECT_THAT(tfidf.tags, ElementsAre(1, 2, 3));
  const Eigen::MatrixXd rows(tfidf.rows);
  // Artist 10: (2 ln 1.5, ln 1.5, 0) has the direction (2, 1, 0).
  EXPECT_NEAR(rows(0, 0), 2 / std::sqrt(5.0), 1e-15);
  EXPECT_NEAR(rows(0, 1), 1 / std::sqrt(5.0), 1e-15);
  EXPECT_EQ(rows(0, 2), 0);
  // Artist 20: (ln 1.5, 0, ln 3).
  const double norm = std::hypot(std::log(1.5), std::log(3.0));
  EXPECT_NEAR(rows(1, 0), std::log(1.5) / norm, 1e-15);
  EXPECT_NEAR(rows(1, 2), std::log(3.0) / norm, 1e-15);
  EXPECT_NEAR(rows(2, 1), 1, 1e-15);
}

TEST(TfIdf, DropsRareTagsAndArtistsLeftWithout) {
  // Tag 3 is on one artist however many users gave it; artist 40 has no other.
  const std::vector<TagAssignment> assignments = {Tagged(1, 10, 1), Tagged(1, 20, 1),
                                                  Tagged(1, 20, 2), Tagged(1, 30, 2),
                                                  Tagged(1, 40, 3), Tagged(2, 40, 3)};
  const TfIdf tfidf = ComputeTfIdf(assignments, 2);
  EXPECT_THAT(tfidf.artists, ElementsAre(10, 20, 30));
  EXPECT_THAT(tfidf.tags, ElementsAre(1, 2));
  EXPECT_EQ(tfidf.rows.rows(), 3);
  EXPECT_EQ(tfidf.rows.cols(), 2);
}

TEST(TfIdf, DropsAnArtistWhoseOnlyTagAllArtistsHave) {
  const TfIdf tfidf = ComputeTfIdf(
      std::vector<TagAssignment>{Tagged(1, 10, 1), Tagged(1, 20, 1), Tagged(1, 20, 2)}, 1);
  EXPECT_THAT(tfidf.artists, ElementsAre(20));
  EXPECT_NEAR(tfidf.rows.coeff(0, 1), 1, 1e-15);
  EXPECT_EQ(ComputeTfIdf({}, 1).rows.rows(), 0);
}

SparseRows RandomRows(int rows, int columns, std::uint64_t seed) {
  testing::TestRng rng(seed);
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      if (rng.Uniform() < 0.4) entries.emplace_back(i, j, rng.Uniform() * (1 + j % 7));
    }
  }
  SparseRows result(rows, columns);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

TEST(PrincipalScores, EqualThoseOfADenseDecomposition) {
  for (const auto& [rows, columns, dimension] :
       {std::tuple(60, 30, 5), std::tuple(20, 40, 19), std::tuple(50, 12, 11)}) {
    const SparseRows sparse = RandomRows(rows, columns, 7 + rows);
    const auto scores = PrincipalScores(sparse, dimension);
    ASSERT_THAT(scores, IsOk());
    Eigen::MatrixXd dense(sparse);
    dense.rowwise() -= dense.colwise().mean().eval();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(dense.transpose() * dense);
    for (int j = 0; j < dimension; ++j) {
      Eigen::VectorXd vector = solver.eigenvectors().col(columns - 1 - j);
      Eigen::Index largest = 0;
      vector.cwiseAbs().maxCoeff(&largest);
      if (vector(largest) < 0) vector = -vector;
      EXPECT_LT((scores->col(j) - (dense * vector).normalized()).norm(), 1e-8) << "component " << j;
    }
  }
}

TEST(PrincipalScores, AreCentredAndOrthonormal) {
  const auto scores = PrincipalScores(RandomRows(200, 50, 3), 8);
  ASSERT_THAT(scores, IsOk());
  EXPECT_LT(scores->colwise().sum().cwiseAbs().maxCoeff(), 1e-9);
  const Eigen::MatrixXd gram = scores->transpose() * *scores;
  EXPECT_LT((gram - Eigen::MatrixXd::Identity(8, 8)).cwiseAbs().maxCoeff(), 1e-8);
}

TEST(PrincipalScores, RefuseMoreDirectionsThanTheRowsSpan) {
  // Two different rows, each five times: one direction remains after centring.
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < 10; ++i) entries.emplace_back(i, i % 2, 1);
  SparseRows rows(10, 4);
  rows.setFromTriplets(entries.begin(), entries.end());
  EXPECT_THAT(PrincipalScores(rows, 2), StatusIs(absl::StatusCode::kInvalidArgument, "directions"));
}

TEST(PrincipalScores, RefuseADimensionThatTheRowsDoNotHave) {
  const SparseRows rows = RandomRows(10, 6, 1);
  EXPECT_THAT(PrincipalScores(rows, 0), StatusIs(absl::StatusCode::kInvalidArgument, "dimension"));
  EXPECT_THAT(PrincipalScores(rows, 6), StatusIs(absl::StatusCode::kInvalidArgument, "dimension"));
  EXPECT_THAT(PrincipalScores(SparseRows(0, 0), 1),
              StatusIs(absl::StatusCode::kInvalidArgument, "dimension"));
}

// `groups` cliques of `size` nodes, one edge between consecutive ones.
std::vector<std::pair<int, int>> Cliques(int groups, int size) {
  std::vector<std::pair<int, int>> edges;
  for (int g = 0; g < groups; ++g) {
    for (int a = 0; a < size; ++a) {
      for (int b = a + 1; b < size; ++b) edges.emplace_back(g * size + a, g * size + b);
    }
    if (g > 0) edges.emplace_back(g * size - 1, g * size);
  }
  return edges;
}

TEST(PartitionGraph, FindsCliques) {
  const auto part = PartitionGraph(32, Cliques(4, 8), 4, 0);
  ASSERT_THAT(part, IsOk());
  std::set<int> used;
  for (int g = 0; g < 4; ++g) {
    for (int a = 1; a < 8; ++a) EXPECT_EQ((*part)[g * 8 + a], (*part)[g * 8]);
    used.insert((*part)[g * 8]);
  }
  EXPECT_THAT(used, ElementsAre(0, 1, 2, 3));
}

TEST(PartitionGraph, IsAFunctionOfItsArguments) {
  testing::TestRng rng(5);
  std::set<std::pair<int, int>> edges;
  while (edges.size() < 900) {
    const int a = rng.Index(300);
    const int b = rng.Index(300);
    if (a < b) edges.emplace(a, b);
  }
  const std::vector<std::pair<int, int>> list(edges.begin(), edges.end());
  const auto first = PartitionGraph(300, list, 12, 1);
  const auto other = PartitionGraph(300, list, 12, 2);
  const auto again = PartitionGraph(300, list, 12, 1);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(other, IsOk());
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *other) << "the seed has no effect";
}

TEST(PartitionGraph, HandlesTheEdgesOfItsRange) {
  EXPECT_THAT(*PartitionGraph(3, {}, 2, 0), ElementsAre(0, 1, 0));
  EXPECT_THAT(*PartitionGraph(8, Cliques(1, 8), 1, 0), ::testing::Each(0));
  const auto all = PartitionGraph(8, Cliques(1, 8), 8, 0);
  ASSERT_THAT(all, IsOk());
  EXPECT_THAT(*all, ::testing::Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(8))));
  EXPECT_THAT(PartitionGraph(3, {}, 0, 0), StatusIs(absl::StatusCode::kInvalidArgument, "[1, 3]"));
  EXPECT_THAT(PartitionGraph(3, {}, 4, 0), StatusIs(absl::StatusCode::kInvalidArgument, "got 4"));
}

}  // namespace
}  // namespace bandana::testing
