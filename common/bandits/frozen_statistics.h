// The statistics that a checkpoint keeps of every node, at one moment, while the model goes on.
#pragma once

namespace bandana {

struct NodeStatistics;

// Threads: immutable. Whoever lets go of the last copy may take seconds over it.
class FrozenStatistics {
 public:
  virtual ~FrozenStatistics() = default;
  virtual int nodes() const = 0;
  // Valid until the next call with the same scratch.
  virtual const NodeStatistics& Of(int node, NodeStatistics& scratch) const = 0;
};

}  // namespace bandana
