// Events of a model with a counter: contexts one by one, releases at each refresh.
#pragma once

#include <memory>
#include <vector>

#include "common/model/learners/bandit_sink.h"
#include "common/model/learners/touched_nodes.h"

namespace bandana {

// S_u and what a release says of the same node, as the posterior takes them: the release's moment
// on top of mid sum x, with its variance.
NodeStatistics WithRelease(NodeStatistics contexts, const Released<NodeRelease>& release);

// Not thread-safe.
class CounterSink final : public CoupledLearner, public ContextSums {
 public:
  // `contexts`: of every node; their moments are mid sum x. `path` says what the node's stream has
  // released, and must outlive the sink. Errors: as EventPath::MakeLearner.
  static absl::StatusOr<std::unique_ptr<CounterSink>> Create(const ModelSpec& spec,
                                                             const EventPath& path,
                                                             const ModelState& state,
                                                             std::vector<NodeStatistics> contexts);
  int nodes() const override { return static_cast<int>(contexts_.size()); }
  std::uint64_t events(int node) const override { return contexts_[node].events; }
  absl::Status AddNode() override;
  absl::Status ForgetNode(int node) override;
  void Add(int node, std::string_view features, const Released<double>& reward) override;
  void Count(int node) override { ++contexts_[node].events; }
  void Join(int node, const NodeStatistics& held) override;
  void Touch(int node) override { touched_.Touch(node); }
  const NodeStatistics& statistics(int node) const override { return contexts_[node]; }

  bool stale() const override { return !touched_.empty(); }
  absl::Status Refresh(const ModelState& state) override;

 private:
  CounterSink(const ModelSpec& spec, const EventPath& path, std::unique_ptr<BanditModel> model,
              std::vector<NodeStatistics> contexts);
  NodeStatistics Read(int node, const ModelState& state) const;

  const EventPath& path_;
  std::vector<NodeStatistics> contexts_;
  TouchedNodes touched_;
  std::vector<double> x_;
};

}  // namespace bandana
