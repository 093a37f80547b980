// Reports of a model whose contexts stay on the devices: noisy sums, read anew at each refresh.
#pragma once

#include <memory>
#include <vector>

#include "common/bandits/context_statistics.h"
#include "common/bandits/noisy_gram.h"
#include "common/model/learners/bandit_sink.h"

namespace bandana {

// The state keeps S^p and beta^p, the sums of the decoded reports, where other models keep S and
// beta. Their noise follows from the number of reports: every one has the same variances. In a
// model that forgets it is the sum of the squared weights that counts.
NoisyStatistics NoisySums(const NodeStatistics& sums, const ReportVariance& one);

// A learner of one node. Not thread-safe.
class ContextSink final : public BanditLearner, public ReportSums, public FadingSums {
 public:
  // `sums`: of the one node. Errors: DATA_LOSS sums that no reports can have.
  static absl::StatusOr<std::unique_ptr<ContextSink>> Create(const ModelSpec& spec,
                                                             const ReportVariance& one,
                                                             const ModelState& state,
                                                             std::vector<NodeStatistics> sums);

  std::uint64_t events(int) const override { return sums_.events; }
  void AddReport(const Released<JointEstimate>& report) override;
  void FadeTo(std::uint64_t steps) override;
  const NodeStatistics& statistics(int) const override { return sums_; }

  bool stale() const override { return stale_; }
  absl::Status Refresh(const ModelState&) override { return Read(); }
  std::uint64_t grams_repaired() const override { return grams_repaired_; }

 private:
  ContextSink(const ModelSpec& spec, const ReportVariance& one, std::unique_ptr<BanditModel> model,
              NodeStatistics sums);
  // Errors: INTERNAL sums that no reports can have.
  absl::Status Read();

  const ReportVariance one_;
  NodeStatistics sums_;
  std::uint64_t steps_ = 0;  // the present one
  bool stale_ = false;
  std::uint64_t grams_repaired_ = 0;
};

}  // namespace bandana
