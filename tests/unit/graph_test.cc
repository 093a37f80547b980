#include "common/bandits/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "common/bandits/coupling.h"
#include "common/base/limits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr auto kEdges = Graph::Kind::kEdgeWeights;
constexpr auto kInfluence = Graph::Kind::kInfluence;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
const std::string kSymmetricBanner = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string kGeneralBanner = "%%MatrixMarket matrix coordinate real general\n";

double Weight(const Graph& graph, int row, int column) {
  double sum = 0;
  for (const Graph::Entry& e : graph.entries)
    sum += e.row == row && e.column == column ? e.weight : 0;
  return sum;
}

TEST(MatrixMarket, ReadsASymmetricFileWithCommentsAndBlankLines) {
  const auto graph = ParseMatrixMarket(
      kSymmetricBanner + "% a comment\n\n3 3 3\r\n1 1 2\n2 1 0.5\n\n 3\t2 1e-1 \n", kEdges);
  ASSERT_THAT(graph, IsOk());
  EXPECT_EQ(graph->nodes, 3);
  EXPECT_EQ(Weight(*graph, 0, 0), 2);
  EXPECT_EQ(Weight(*graph, 0, 1), 0.5);
  EXPECT_EQ(Weight(*graph, 1, 0), 0.5);
  EXPECT_EQ(Weight(*graph, 1, 2), 0.1);
}

TEST(MatrixMarket, SumsDuplicates) {
  const auto graph = ParseMatrixMarket(kSymmetricBanner + "2 2 2\n2 1 1\n2 1 2\n", kEdges);
  ASSERT_THAT(graph, IsOk());
  EXPECT_EQ(Weight(*graph, 0, 1), 3);
}

TEST(MatrixMarket, ReadsIntegersAndIgnoresTheCaseOfTheBanner) {
  EXPECT_THAT(ParseMatrixMarket(
                  "%%matrixmarket Matrix Coordinate INTEGER Symmetric\n1 1 1\n1 1 7\n", kEdges),
              IsOk());
}

TEST(MatrixMarket, WritingAndReadingKeepsEveryBit) {
  Graph graph;
  graph.nodes = 3;
  graph.entries = {{0, 0, 1.0 / 3}, {2, 1, 0.1}, {1, 2, 0.1}, {2, 0, 1e-300}, {0, 2, 1e-300}};
  const std::string text = ToMatrixMarket(graph);
  const auto read = ParseMatrixMarket(text, kEdges);
  ASSERT_THAT(read, IsOk());
  for (const Graph::Entry& e : graph.entries) EXPECT_EQ(Weight(*read, e.row, e.column), e.weight);
  EXPECT_EQ(read->entries.size(), graph.entries.size());
  EXPECT_EQ(ToMatrixMarket(*read), text);
}

TEST(MatrixMarket, WritesAnInfluenceMatrixInFull) {
  Graph graph;
  graph.kind = kInfluence;
  graph.nodes = 2;
  graph.entries = {{0, 0, 1}, {0, 1, 0.25}, {1, 1, 0.75}};
  const auto read = ParseMatrixMarket(ToMatrixMarket(graph), kInfluence);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(Weight(*read, 0, 1), 0.25);
  EXPECT_EQ(Weight(*read, 1, 0), 0);
}

struct BadText {
  const char* name;
  std::string text;
  const char* message;
};

class MatrixMarketErrorTest : public ::testing::TestWithParam<BadText> {};

TEST_P(MatrixMarketErrorTest, NamesTheLine) {
  EXPECT_THAT(ParseMatrixMarket(GetParam().text, kEdges), StatusIs(kInvalid, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, MatrixMarketErrorTest,
    ::testing::Values(
        BadText{"Empty", "", "graph line 1: must start with"},
        BadText{"NoBanner", "3 3 1\n1 1 1\n", "graph line 1: must start with"},
        BadText{"Dense", "%%MatrixMarket matrix array real general\n", "graph line 1: the format"},
        BadText{"Pattern", "%%MatrixMarket matrix coordinate pattern general\n",
                "graph line 1: weights must be"},
        BadText{"Skew", "%%MatrixMarket matrix coordinate real skew-symmetric\n",
                "graph line 1: must be `symm"},
        BadText{"Trailing", "%%MatrixMarket matrix coordinate real general x\n",
                "graph line 1: unexpected text"},
        BadText{"NoSize", kGeneralBanner, "graph line 1: the size line is missing"},
        BadText{"BadSize", kGeneralBanner + "3 3\n",
                "graph line 2: must be `rows columns entries`"},
        BadText{"NotSquare", kGeneralBanner + "3 4 0\n", "graph line 2: must be square, got 3 x 4"},
        BadText{"NoNodes", kGeneralBanner + "0 0 0\n",
                "graph line 2: nodes must be in [1, 10000], got 0"},
        BadText{"TooManyNodes", kGeneralBanner + "10001 10001 0\n",
                "graph line 2: nodes must be in"},
        BadText{"Huge", kGeneralBanner + "99999999999999999999 3 0\n",
                "graph line 2: must be `rows"},
        BadText{"OutOfRange", kGeneralBanner + "2 2 1\n1 3 1\n",
                "graph line 3: row and column must be in [1, 2]"},
        BadText{"ZeroBased", kGeneralBanner + "2 2 1\n0 1 1\n", "graph line 3: row and column"},
        BadText{"MissingWeight", kGeneralBanner + "2 2 1\n1 1\n",
                "graph line 3: the weight is missing"},
        BadText{"MissingColumn", kGeneralBanner + "2 2 1\n1\n",
                "graph line 3: must start with row and column"},
        BadText{"TooManyWords", kGeneralBanner + "2 2 1\n1 1 1 1\n",
                "graph line 3: must be `row column weight`"},
        BadText{"NotANumber", kGeneralBanner + "2 2 1\n1 1 x\n",
                "graph line 3: must be `row column weight`"},
        BadText{"Negative", kGeneralBanner + "2 2 1\n1 1 -0.5\n",
                "graph line 3: weight must be finite and >= 0"},
        BadText{"Nan", kGeneralBanner + "2 2 1\n1 1 nan\n", "graph line 3: weight must be finite"},
        BadText{"Infinite", kGeneralBanner + "2 2 1\n1 1 inf\n",
                "graph line 3: weight must be finite"},
        BadText{"Upper", kSymmetricBanner + "2 2 1\n1 2 1\n",
                "graph line 3: a symmetric file lists the lower"},
        BadText{"TooFew", kGeneralBanner + "2 2 2\n1 1 1\n",
                "graph line 3: file ends after 1 of 2 entries"},
        BadText{"TooMany", kGeneralBanner + "2 2 1\n1 1 1\n2 2 1\n",
                "graph line 4: more than the 1 entries"},
        BadText{"Asymmetric", kGeneralBanner + "2 2 2\n1 2 1\n2 1 2\n",
                "edge weights must be symmetric"},
        BadText{"OneSided", kGeneralBanner + "2 2 1\n1 2 1\n", "edge weights must be symmetric"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ValidateGraph, RejectsWhatTheKindForbids) {
  Graph graph;
  EXPECT_THAT(ValidateGraph(graph), StatusIs(kInvalid, "graph: nodes must be in"));
  graph.nodes = kNodesMax + 1;
  EXPECT_THAT(ValidateGraph(graph), StatusIs(kInvalid, "graph: nodes must be in"));
  graph.nodes = 2;
  graph.entries = {{0, 2, 1}};
  EXPECT_THAT(ValidateGraph(graph), StatusIs(kInvalid, "graph: entry (0, 2) must lie in 2 x 2"));
  graph.entries = {{-1, 0, 1}};
  EXPECT_THAT(ValidateGraph(graph), StatusIs(kInvalid, "graph: entry"));
  graph.entries = {{0, 0, std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_THAT(ValidateGraph(graph), StatusIs(kInvalid, "graph: weight of (0, 0)"));
  graph.entries = {{0, 0, 1e308}, {0, 0, 1e308}};
  EXPECT_THAT(ValidateGraph(graph), StatusIs(kInvalid, "graph: the summed weight of (0, 0)"));
  graph.entries = {};
  EXPECT_THAT(ValidateGraph(graph), IsOk());
}

TEST(ValidateGraph, InfluenceColumnsMustSumToOne) {
  Graph graph;
  graph.kind = kInfluence;
  graph.nodes = 2;
  graph.entries = {{0, 0, 0.5}, {1, 0, 0.5}, {1, 1, 1 - 1e-10}};
  EXPECT_THAT(ValidateGraph(graph), IsOk());
  graph.entries[2].weight = 1 - 1e-8;
  EXPECT_THAT(ValidateGraph(graph), StatusIs(kInvalid, "influence column of node 1 must sum to 1"));
  // Rows that sum to one do not help: the weights on a user are a column.
  graph.entries = {{0, 0, 0.5}, {0, 1, 0.5}, {1, 1, 1}};
  EXPECT_THAT(ValidateGraph(graph), StatusIs(kInvalid, "influence column of node 0"));
}

TEST(Coupling, SharedIsOneNodeAndIndependentNone) {
  EXPECT_EQ(Coupling::Shared().nodes(), 1);
  EXPECT_FALSE(Coupling::Shared().independent());
  EXPECT_THAT(Coupling::Shared().components()[0].prior, ElementsAre(1));
  EXPECT_TRUE(Coupling::Independent().independent());
  EXPECT_EQ(Coupling::Independent().nodes(), 0);
}

// Two pairs of friends, 0 - 2 and 1 - 3, and a loner with only inner edges.
Graph Pairs() {
  Graph graph;
  graph.nodes = 5;
  graph.entries = {{0, 0, 1}, {2, 2, 1}, {0, 2, 1}, {2, 0, 1}, {1, 1, 2},
                   {3, 3, 1}, {1, 3, 2}, {3, 1, 2}, {4, 4, 3}};
  return graph;
}

TEST(Coupling, ColinIsTheGramMatrixOfNormalisedColumns) {
  const auto coupling = Coupling::CoLin(Pairs(), 10);
  ASSERT_THAT(coupling, IsOk());
  EXPECT_EQ(coupling->nodes(), 5);
  ASSERT_EQ(coupling->components().size(), 3);
  const auto& first = coupling->components()[0];
  EXPECT_THAT(first.nodes, ElementsAre(0, 2));
  EXPECT_THAT(first.prior, ElementsAre(0.5, 0.5, 0.5, 0.5));  // both columns (1/2, 1/2)
  // Columns (1/2, 1/2) and (2/3, 1/3).
  const auto& second = coupling->components()[1];
  EXPECT_THAT(second.nodes, ElementsAre(1, 3));
  const double expected[] = {0.5, 0.5, 0.5, 5.0 / 9};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(second.prior[i], expected[i], 1e-15);
  EXPECT_THAT(coupling->components()[2].nodes, ElementsAre(4));
  EXPECT_THAT(coupling->components()[2].prior, ElementsAre(1));
}

TEST(Coupling, ColinJoinsUsersWhoShareAnInfluenceWithoutAnEdge) {
  // Users 1 and 2 both listen to 0 only: P_12 = 1 although w_12 = w_21 = 0.
  Graph graph;
  graph.kind = kInfluence;
  graph.nodes = 3;
  graph.entries = {{1, 0, 1}, {0, 1, 1}, {0, 2, 1}};
  const auto coupling = Coupling::CoLin(graph, 1);
  ASSERT_THAT(coupling, IsOk());
  ASSERT_EQ(coupling->components().size(), 2);
  EXPECT_THAT(coupling->components()[0].nodes, ElementsAre(0));
  EXPECT_THAT(coupling->components()[1].nodes, ElementsAre(1, 2));
  EXPECT_THAT(coupling->components()[1].prior, ElementsAre(1, 1, 1, 1));
}

TEST(Coupling, ColinRefusesANodeWithoutEdges) {
  Graph graph = Pairs();
  graph.entries.pop_back();
  EXPECT_THAT(Coupling::CoLin(graph, 10), StatusIs(kInvalid, "graph: node 4 has no edges"));
}

TEST(Coupling, GoblinInvertsIdentityPlusLaplacianPerComponent) {
  const auto coupling = Coupling::Goblin(Pairs(), 0.5, 10);
  ASSERT_THAT(coupling, IsOk());
  ASSERT_EQ(coupling->components().size(), 3);
  // G = [1.5 -0.5; -0.5 1.5], G^-1 = [0.75 0.25; 0.25 0.75]; inner edges do not matter.
  const auto& first = coupling->components()[0];
  EXPECT_THAT(first.nodes, ElementsAre(0, 2));
  EXPECT_NEAR(first.prior[0], 0.75, 1e-15);
  EXPECT_NEAR(first.prior[1], 0.25, 1e-15);
  EXPECT_EQ(first.prior[1], first.prior[2]);
  // G = [2 -1; -1 2].
  EXPECT_NEAR(coupling->components()[1].prior[0], 2.0 / 3, 1e-15);
  EXPECT_THAT(coupling->components()[2].prior, ElementsAre(1));
}

TEST(Coupling, GoblinAcceptsNodesWithoutEdges) {
  Graph graph;
  graph.nodes = 3;
  const auto coupling = Coupling::Goblin(graph, 1, 1);
  ASSERT_THAT(coupling, IsOk());
  EXPECT_EQ(coupling->components().size(), 3);
}

TEST(Coupling, GoblinRefusesBadWeightsAndInfluence) {
  for (double weight : {0.0, -1.0, 1.1e6, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(Coupling::Goblin(Pairs(), weight, 10),
                StatusIs(kInvalid, "laplacian_weight must be in (0, 1e6]"));
  }
  Graph influence;
  influence.kind = kInfluence;
  influence.nodes = 1;
  influence.entries = {{0, 0, 1}};
  EXPECT_THAT(Coupling::Goblin(influence, 1, 1),
              StatusIs(kInvalid, "graph: GOBLin needs symmetric edge weights"));
  Graph heavy = Pairs();
  heavy.entries[2].weight = heavy.entries[3].weight = 1e300;
  EXPECT_THAT(Coupling::Goblin(heavy, 1, 10),
              StatusIs(kInvalid, "degree of node 0 must be at most"));
}

TEST(Coupling, RefusesComponentsThatDoNotFitBeforeAllocatingThem) {
  // A ring of 400 nodes at dimension 25 has 10,000 rows.
  Graph ring;
  ring.nodes = 400;
  for (int u = 0; u < 400; ++u) {
    ring.entries.push_back({u, (u + 1) % 400, 1});
    ring.entries.push_back({(u + 1) % 400, u, 1});
  }
  EXPECT_THAT(
      Coupling::Goblin(ring, 1, 25),
      StatusIs(kInvalid, "component of node 0 has 400 nodes; at dimension 25 at most 327 fit"));
  // In an even ring nodes two apart share a neighbour: CoLin has two components of 200 nodes.
  const auto colin = Coupling::CoLin(ring, 25);
  ASSERT_THAT(colin, IsOk());
  EXPECT_EQ(colin->components().size(), 2);
  EXPECT_THAT(Coupling::CoLin(ring, 50),
              StatusIs(kInvalid, "has 200 nodes; at dimension 50 at most 163 fit"));
}

TEST(Coupling, RefusesBadDimensionsAndBadGraphs) {
  for (int dimension : {0, -1, kDimensionMax + 1}) {
    EXPECT_THAT(Coupling::CoLin(Pairs(), dimension), StatusIs(kInvalid, "dimension must be in"));
    EXPECT_THAT(Coupling::Goblin(Pairs(), 1, dimension),
                StatusIs(kInvalid, "dimension must be in"));
  }
  Graph negative = Pairs();
  negative.entries[0].weight = -1;
  EXPECT_THAT(Coupling::CoLin(negative, 10), StatusIs(kInvalid, "weight of (0, 0)"));
  EXPECT_THAT(Coupling::Goblin(negative, 1, 10), StatusIs(kInvalid, "weight of (0, 0)"));
}

}  // namespace
}  // namespace bandana::testing
