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
class JointSink final : public BanditLearner {
 public:
  // `model` without events; `counted`: of every node, their number alone. The posterior is that of
  // the releases. Errors: INTERNAL releases that no counter makes.
  static absl::StatusOr<std::unique_ptr<JointSink>> Create(const ModelSpec& spec,
                                                           std::unique_ptr<BanditModel> model,
                                                           std::vector<NodeStatistics> counted,
                                                           const ReleaseOf& release_of);

  int nodes() const override { return static_cast<int>(counted_.size()); }
  std::uint64_t events(int node) const override { return counted_[node].events; }
  absl::Status AddNode() override;
  // Contexts of this model enter its streams only.
  void Add(int, std::string_view, const Released<double>&) override;
  void Join(int, const NodeStatistics&) override;
  void Hold(int node) override { ++counted_[node].events; }
  void Touch(int node) override { touched_.Touch(node); }
  const NodeStatistics& statistics(int node) const override { return counted_[node]; }

  bool stale() const override { return !touched_.empty(); }
  absl::Status Refresh(const ReleaseOf& release_of) override;
  std::uint64_t grams_repaired() const override { return grams_repaired_; }

 private:
  JointSink(const ModelSpec& spec, std::unique_ptr<BanditModel> model,
            const JointStatistic& statistic, std::vector<NodeStatistics> counted);
  absl::StatusOr<NodeStatistics> Read(int node, const ReleaseOf& release_of);

  const JointStatistic statistic_;
  std::vector<NodeStatistics> counted_;  // S and moment stay 0
  TouchedNodes touched_;
  std::uint64_t grams_repaired_ = 0;
};

}  // namespace bandana
