// The kinds of continual counters, and their names in configurations and reports.
#pragma once

#include <string_view>

namespace bandana {

enum class CounterKind {
  kTree,      // binary tree of noisy partial sums [CSS11]
  kHonaker,   // the tree's releases, combined bottom-up [H15]
  kToeplitz,  // the square root of the prefix-sum matrix [FHU23]; its state is the whole stream
  kBlt,       // buffered linear Toeplitz factors [BLT24], a release every step
  kEpochs,    // the same over epochs that grow geometrically, a release at the end of each
  kHybrid,    // a tree a doubling of the stream beside the doublings' sums, no horizon [CSS11]
};

inline constexpr CounterKind kCounterKinds[] = {CounterKind::kTree,     CounterKind::kHonaker,
                                                CounterKind::kToeplitz, CounterKind::kBlt,
                                                CounterKind::kEpochs,   CounterKind::kHybrid};

// "tree", "honaker", "toeplitz", "blt", "epochs", "hybrid".
std::string_view CounterKindName(CounterKind kind);

}  // namespace bandana
