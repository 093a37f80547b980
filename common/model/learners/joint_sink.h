// Events of a model whose contexts and rewards are private together: nothing but the number of
// events and the releases of (x x', r x).
#pragma once

#include <memory>
#include <vector>

#include "common/bandits/noisy_gram.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/model/learners/bandit_sink.h"
#include "common/model/learners/touched_nodes.h"

namespace bandana {

// S^p and beta^p of a node, in units of the data, from what its streams have released of phi.
NoisyStatistics JointStatisticsOf(const JointStatistic& statistic,
                                  const Released<NodeRelease>& release, std::uint64_t events);

// Not thread-safe.
class JointSink final : public CoupledLearner, public StreamEvents {
 public:
  // `counted`: of every node, the number of its events alone. The posterior is that of the
  // releases, of which `path` tells; it must outlive the sink. Errors: DATA_LOSS releases that no
  // counter makes.
  static absl::StatusOr<std::unique_ptr<JointSink>> Create(const ModelSpec& spec,
                                                           const EventPath& path,
                                                           const ModelState& state,
                                                           std::vector<NodeStatistics> counted);

  int nodes() const override { return static_cast<int>(counted_.size()); }
  std::uint64_t events(int node) const override { return counted_[node].events; }
  absl::Status AddNode() override;
  absl::Status ForgetNode(int node) override;
  void Count(int node) override { ++counted_[node].events; }
  void Touch(int node) override { touched_.Touch(node); }
  const NodeStatistics& statistics(int node) const override { return counted_[node]; }

  bool stale() const override { return !touched_.empty(); }
  absl::Status Refresh(const ModelState& state) override;
  std::uint64_t grams_repaired() const override { return grams_repaired_; }

 private:
  JointSink(const ModelSpec& spec, const EventPath& path, std::unique_ptr<BanditModel> model,
            const JointStatistic& statistic, std::vector<NodeStatistics> counted);
  absl::StatusOr<NodeStatistics> Read(int node, const ModelState& state);
  absl::Status ReadAll(const ModelState& state);

  const EventPath& path_;
  const JointStatistic statistic_;
  std::vector<NodeStatistics> counted_;  // S and moment stay 0
  TouchedNodes touched_;
  std::uint64_t grams_repaired_ = 0;
};

}  // namespace bandana
