// Nodes whose releases have moved since the posterior last read them.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace bandana {

// Not thread-safe.
class TouchedNodes {
 public:
  // O(1), however often. Requires node >= 0.
  void Touch(int node) {
    if (is_touched_.size() <= static_cast<std::size_t>(node)) is_touched_.resize(node + 1);
    if (is_touched_[node]) return;
    is_touched_[node] = true;
    nodes_.push_back(node);
  }
  bool empty() const { return nodes_.empty(); }
  // All of them, ascending; then none is touched.
  std::vector<int> Take() {
    for (const int node : nodes_) is_touched_[node] = false;
    std::sort(nodes_.begin(), nodes_.end());
    return std::exchange(nodes_, {});
  }

 private:
  std::vector<bool> is_touched_;  // by node
  std::vector<int> nodes_;
};

}  // namespace bandana
