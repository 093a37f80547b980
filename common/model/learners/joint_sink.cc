#include "common/model/learners/joint_sink.h"

#include <utility>

#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {

// PROOF: joint_served begin
NoisyStatistics JointStatisticsOf(const JointStatistic& statistic,
                                  const Released<NodeRelease>& release, std::uint64_t events) {
  JointEstimate estimate = statistic.Unpack(release.value().moment);
  const double context = statistic.context_l2_max() * statistic.context_l2_max();
  const double reward = statistic.reward_abs_max() * statistic.reward_abs_max();
  return {.gram = std::move(estimate.gram),
          .moment = std::move(estimate.moment),
          .events = events,
          .gram_variance = release.value().variance * context * context,
          .moment_variance = release.value().variance * context * reward};
}
// PROOF: joint_served end

JointSink::JointSink(const ModelSpec& spec, const EventPath& path,
                     std::unique_ptr<BanditModel> model, const JointStatistic& statistic,
                     std::vector<NodeStatistics> counted)
    : CoupledLearner(spec, std::move(model)),
      path_(path),
      statistic_(statistic),
      counted_(std::move(counted)) {}

absl::StatusOr<std::unique_ptr<JointSink>> JointSink::Create(const ModelSpec& spec,
                                                             const EventPath& path,
                                                             const ModelState& state,
                                                             std::vector<NodeStatistics> counted) {
  const PublicSpec& p = spec.public_spec;
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           MakeBandit(spec, state, counted.size()));
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic,
                           JointStatistic::Create({.dimension = p.dimension,
                                                   .context_l2_max = p.feature_l2_max,
                                                   .reward_abs_max = p.reward_range.abs_max(),
                                                   .grid_bits = JointStatistic::kGridBitsMax}));
  std::unique_ptr<JointSink> sink(
      new JointSink(spec, path, std::move(model), statistic, std::move(counted)));
  const absl::Status read = sink->ReadAll(state);
  if (!read.ok()) return DataLoss("the recovered releases: ", read.message());
  return sink;
}

absl::Status JointSink::ReadAll(const ModelState& state) {
  std::vector<NodeStatistics> statistics;
  for (int node = 0; node < nodes(); ++node) {
    BANDANA_ASSIGN_OR_RETURN(NodeStatistics read, Read(node, state));
    statistics.push_back(std::move(read));
  }
  BANDANA_RETURN_IF_ERROR(model_->Restore(std::move(statistics)));
  grams_repaired_ = 0;  // counted when they were first read
  return absl::OkStatus();
}

absl::Status JointSink::AddNode() {
  BANDANA_RETURN_IF_ERROR(CoupledLearner::AddNode());
  counted_.push_back(EmptyStatistics(model_->dimension()));
  return absl::OkStatus();
}

absl::Status JointSink::ForgetNode(int node) {
  counted_[node] = EmptyStatistics(model_->dimension());
  return CoupledLearner::ForgetNode(node);
}

// PROOF: joint_served begin
// A node without a release says nothing.
absl::StatusOr<NodeStatistics> JointSink::Read(int node, const ModelState& state) {
  const Released<NodeRelease> release = path_.ReleaseOf(state, node);
  if (!(release.value().variance > 0)) return EmptyStatistics(model_->dimension());
  absl::StatusOr<RepairedStatistics> repaired = RepairStatistics(
      JointStatisticsOf(statistic_, release, counted_[node].events), spec_.theta_l2_max);
  if (!repaired.ok()) {
    return absl::InternalError(absl::StrCat("node ", node, ": ", repaired.status().message()));
  }
  grams_repaired_ += repaired->eigenvalues_clipped > 0 ? 1 : 0;
  return std::move(repaired->statistics);
}
// PROOF: joint_served end

absl::Status JointSink::Refresh(const ModelState& state) {
  for (const int node : touched_.Take()) {
    BANDANA_ASSIGN_OR_RETURN(NodeStatistics read, Read(node, state));
    const absl::Status set = model_->SetReleased(node, std::move(read));
    if (!set.ok()) return absl::InternalError(absl::StrCat("node ", node, ": ", set.message()));
  }
  model_->Refresh();
  return absl::OkStatus();
}

}  // namespace bandana
