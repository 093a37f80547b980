#include "common/ranking/posterior.h"

#include <gtest/gtest.h>

#include <vector>

namespace bandana {
namespace {

NodePosterior Marked(double mark) { return {{mark}, {1.0}, 0.3}; }

TEST(PosteriorSnapshot, StartsWithThePriorEverywhere) {
  const PosteriorSnapshot snapshot(1, Marked(7), 100);
  EXPECT_EQ(snapshot.dimension(), 1);
  EXPECT_EQ(snapshot.nodes(), 100);
  EXPECT_EQ(snapshot.version(), 0);
  for (int node : {-1, 0, 63, 64, 99, 100, 1 << 30}) EXPECT_EQ(snapshot.node(node).mean[0], 7);
}

TEST(PosteriorSnapshot, ReplacesNodesAndLeavesTheOldSnapshotAlone) {
  const auto first = std::make_shared<const PosteriorSnapshot>(1, Marked(0), 200);
  const auto second = first->With(5, {150, 3, 64}, {Marked(150), Marked(3), Marked(64)});
  EXPECT_EQ(second->version(), 5);
  for (int node : {3, 64, 150}) {
    EXPECT_EQ(second->node(node).mean[0], node);
    EXPECT_EQ(first->node(node).mean[0], 0);
  }
  EXPECT_EQ(second->node(4).mean[0], 0);
}

TEST(PosteriorSnapshot, SharesNodesThatDidNotChange) {
  const auto first = std::make_shared<const PosteriorSnapshot>(1, Marked(0), 200)
                         ->With(1, {10, 100}, {Marked(1), Marked(2)});
  const auto second = first->With(2, {100}, {Marked(3)});
  EXPECT_EQ(&second->node(10), &first->node(10));
  EXPECT_EQ(&second->node(199), &first->node(199));
  EXPECT_NE(&second->node(100), &first->node(100));
}

TEST(PosteriorSnapshot, GrowsAndFillsGapsWithThePrior) {
  const auto empty = std::make_shared<const PosteriorSnapshot>(1, Marked(9), 0);
  EXPECT_EQ(empty->node(0).mean[0], 9);
  const auto grown = empty->With(1, {200}, {Marked(1)});
  EXPECT_EQ(grown->nodes(), 201);
  EXPECT_EQ(grown->node(200).mean[0], 1);
  for (int node : {0, 63, 64, 199, 201}) EXPECT_EQ(grown->node(node).mean[0], 9);
  const auto more = grown->With(2, {202, 0}, {Marked(2), Marked(3)});
  EXPECT_EQ(more->node(201).mean[0], 9);
  EXPECT_EQ(more->node(202).mean[0], 2);
  EXPECT_EQ(more->node(200).mean[0], 1);
}

TEST(PosteriorSnapshot, LastOfRepeatedIndicesWins) {
  const auto snapshot = std::make_shared<const PosteriorSnapshot>(1, Marked(0), 1)
                            ->With(1, {0, 0}, {Marked(1), Marked(2)});
  EXPECT_EQ(snapshot->node(0).mean[0], 2);
}

TEST(PosteriorSnapshot, OutlivesItsPredecessor) {
  auto snapshot = std::make_shared<const PosteriorSnapshot>(1, Marked(4), 70);
  for (int i = 0; i < 100; ++i) snapshot = snapshot->With(i, {i % 70}, {Marked(i)});
  EXPECT_EQ(snapshot->node(29).mean[0], 99);
  EXPECT_EQ(snapshot->node(69).mean[0], 69);
}

TEST(PosteriorSnapshotDeathTest, ChecksItsCaller) {
  const PosteriorSnapshot snapshot(1, Marked(0), 1);
  EXPECT_DEATH((void)snapshot.With(1, {0}, {}), "check failed");
  EXPECT_DEATH((void)snapshot.With(1, {-1}, {Marked(0)}), "check failed");
}

}  // namespace
}  // namespace bandana
