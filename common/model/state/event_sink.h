// Where the state machine puts events: into bare statistics while recovering, into a learner
// (learner.h) while serving.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/bandits/frozen_statistics.h"
#include "common/bandits/model.h"
#include "common/base/check.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/model/entries/released.h"

namespace bandana {

// The interface of every sink. Events depend on the model: a sink has besides the parts below that
// its path needs (PartOf).
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual int nodes() const = 0;
  // Events of the node so far, those not flushed included.
  virtual std::uint64_t events(int node) const = 0;
  // The statistics that a checkpoint keeps of the node. Requires that nothing waits to be flushed.
  virtual const NodeStatistics& statistics(int node) const = 0;
  // The statistics of all nodes, for another thread to read while the sink goes on. Unless a sink
  // says otherwise it costs a copy of them.
  virtual std::shared_ptr<const FrozenStatistics> Freeze();
};

// Events whose context and reward may be summed one by one.
class RewardSums {
 public:
  virtual ~RewardSums() = default;
  // features: d doubles, not aligned. Requires node < nodes().
  virtual void Add(int node, std::string_view features, const Released<double>& reward) = 0;
};

// Events that are in streams, of which releases tell.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // An event of the node: it counts from now on.
  virtual void Count(int node) = 0;
  // The release that the node's events are in has moved.
  virtual void Touch(int node) = 0;
};

// Counters of rewards: contexts are public, and are summed once a release covers their event.
class ContextSums : public RewardSums, public StreamEvents {
 public:
  // Contexts that waited (HeldContexts), whose events count already.
  virtual void Join(int node, const NodeStatistics& held) = 0;
};

// Private contexts: reports of whole events.
class ReportSums {
 public:
  virtual ~ReportSums() = default;
  virtual void AddReport(const Released<JointEstimate>& report) = 0;
};

// Sums whose events fade (fading.h).
class FadingSums {
 public:
  virtual ~FadingSums() = default;
  // As BanditModel::FadeTo.
  virtual void FadeTo(std::uint64_t steps) = 0;
};

// Nodes that a coupling joins.
class CoupledNodes {
 public:
  virtual ~CoupledNodes() = default;
  // Independent models: a further node. Errors: RESOURCE_EXHAUSTED.
  virtual absl::Status AddNode() = 0;
  // Independent models as well: back to a node without events. The releases of its streams are the
  // state's. Errors: DATA_LOSS nodes are not users'.
  virtual absl::Status ForgetNode(int node) = 0;
  // `graph`: serialized v1::Graph, empty = the configuration's.
  virtual absl::Status SetGraph(std::string_view graph) = 0;
};

// The part of the sink that a path needs. StatisticsSink has every part, and a learner those that
// its own path needs: to ask for another is our mistake.
template <typename Part>
Part& PartOf(EventSink& sink) {
  auto* const part = dynamic_cast<Part*>(&sink);
  BANDANA_CHECK(part != nullptr);
  return *part;
}

// S and moment of `held` added to those of the node.
void JoinContexts(const NodeStatistics& held, NodeStatistics& node);
// As above for a report, which is one more event.
void JoinReport(const Released<JointEstimate>& report, NodeStatistics& node);

// Statistics alone: O(d^2) an event, no posterior.
class StatisticsSink final : public EventSink,
                             public ContextSums,
                             public ReportSums,
                             public FadingSums,
                             public CoupledNodes {
 public:
  // `dimension`: of the sums, EventPath::statistics_dimension. `steps`: the present one of a model
  // that forgets, Fading::steps.
  StatisticsSink(int dimension, std::vector<NodeStatistics> start, std::uint64_t steps);
  int nodes() const override { return static_cast<int>(statistics_.size()); }
  std::uint64_t events(int node) const override { return statistics_[node].events; }
  const NodeStatistics& statistics(int node) const override { return statistics_[node]; }

  void Add(int node, std::string_view features, const Released<double>& reward) override;
  void Count(int node) override { ++statistics_[node].events; }
  // The releases of streams are the state's.
  void Touch(int) override {}
  void Join(int node, const NodeStatistics& held) override {
    JoinContexts(held, statistics_[node]);
  }
  void AddReport(const Released<JointEstimate>& report) override;
  void FadeTo(std::uint64_t steps) override { steps_ = steps; }
  absl::Status AddNode() override;
  absl::Status ForgetNode(int node) override;
  // The graph has no part in the statistics.
  absl::Status SetGraph(std::string_view) override { return absl::OkStatus(); }

  std::vector<NodeStatistics> Take() { return std::move(statistics_); }

 private:
  int dimension_;
  std::vector<NodeStatistics> statistics_;
  std::uint64_t steps_;
  std::vector<double> x_;
};

}  // namespace bandana
