// Where the state machine puts events: into bare statistics while recovering, into a learner
// (learner.h) while serving.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/bandits/model.h"
#include "common/bandits/sparse/sparse_estimate.h"
#include "common/design/model_spec.h"
#include "common/model/entries/released.h"
#include "common/model/state/user_shape.h"

namespace bandana {

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual int nodes() const = 0;
  // Events of the node so far, those not flushed included.
  virtual std::uint64_t events(int node) const = 0;
  // Independent models: a further node. Errors: RESOURCE_EXHAUSTED.
  virtual absl::Status AddNode() = 0;
  // features: d doubles, not aligned. Requires node < nodes().
  virtual void Add(int node, std::string_view features, const Released<double>& reward) = 0;
  // Counters: an event of the node whose context waits (HeldContexts); it counts from now on.
  virtual void Hold(int node) = 0;
  // Contexts that waited, whose events count already.
  virtual void Join(int node, const NodeStatistics& held) = 0;
  // Counters: the node's release has moved.
  virtual void Touch(int node) = 0;
  // What a checkpoint keeps of the node. Requires that nothing waits to be flushed.
  virtual const NodeStatistics& statistics(int node) const = 0;
  // `graph`: serialized v1::Graph, empty = the configuration's.
  virtual absl::Status SetGraph(std::string_view graph) = 0;
  // Sparse models: an episode has released.
  virtual void SetEstimate(const Released<SparseEstimate>&) {}
  // One counter over all users: how its noise is spread.
  virtual void SetShape(const UserShape&) {}
  // Hands on what is held back for speed.
  virtual void Flush() {}
};

// Dimension of the sums that a model keeps of a node: 0 where it keeps but the number of events.
int StatisticsDimension(const ModelSpec& spec);

// S and moment of `held` added to those of the node.
void JoinContexts(const NodeStatistics& held, NodeStatistics& node);

// Statistics alone: O(d^2) an event, no posterior.
class StatisticsSink final : public EventSink {
 public:
  StatisticsSink(int dimension, std::vector<NodeStatistics> start);
  int nodes() const override { return static_cast<int>(statistics_.size()); }
  std::uint64_t events(int node) const override { return statistics_[node].events; }
  absl::Status AddNode() override;
  void Add(int node, std::string_view features, const Released<double>& reward) override;
  void Hold(int node) override { ++statistics_[node].events; }
  void Join(int node, const NodeStatistics& held) override {
    JoinContexts(held, statistics_[node]);
  }
  void Touch(int) override {}
  const NodeStatistics& statistics(int node) const override { return statistics_[node]; }
  // The graph has no part in the statistics.
  absl::Status SetGraph(std::string_view) override { return absl::OkStatus(); }

  std::vector<NodeStatistics> Take() { return std::move(statistics_); }

 private:
  int dimension_;
  std::vector<NodeStatistics> statistics_;
  std::vector<double> x_;
};

// Coupling for a serialized v1::Graph, or the configuration's when empty. Errors: DATA_LOSS does
// not parse; INVALID_ARGUMENT.
absl::StatusOr<Coupling> CouplingOf(const ModelSpec& spec, std::string_view graph);

}  // namespace bandana
