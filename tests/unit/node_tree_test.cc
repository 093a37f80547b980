#include "common/bandits/node_tree.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace bandana {
namespace {

TEST(NodeTree, ClearSlowlyLeavesWhatOtherCopiesHave) {
  constexpr std::size_t kNodes = 10'000;  // of three branches
  NodeTree<int> tree;
  std::vector<std::weak_ptr<const int>> first(kNodes);
  for (std::size_t n = 0; n < kNodes; ++n) {
    const auto value = std::make_shared<const int>(static_cast<int>(n));
    first[n] = value;
    tree.Set(n, value);
  }
  NodeTree<int> copy = tree.Share();
  // The tree goes on: every second object of the copy is then nobody else's.
  for (std::size_t n = 0; n < kNodes; n += 2) tree.Set(n, std::make_shared<const int>(-1));
  copy.ClearSlowly();
  for (std::size_t n = 0; n < kNodes; ++n) {
    EXPECT_EQ(copy.at(n), nullptr);
    EXPECT_EQ(*tree.at(n), n % 2 == 0 ? -1 : static_cast<int>(n));
    EXPECT_EQ(first[n].expired(), n % 2 == 0);
  }
  copy.Set(5, std::make_shared<const int>(6));
  EXPECT_EQ(*copy.at(5), 6);
  EXPECT_EQ(*tree.at(5), 5);
}

}  // namespace
}  // namespace bandana
