#include "common/model/learners/context_sink.h"

#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {

NoisyStatistics NoisySums(const NodeStatistics& sums, const ReportVariance& one) {
  const auto reports = static_cast<double>(sums.events);
  return {.gram = sums.gram,
          .moment = sums.moment,
          .events = sums.events,
          .gram_variance = reports * one.gram,
          .moment_variance = reports * one.moment};
}

absl::StatusOr<std::unique_ptr<ContextSink>> ContextSink::Create(
    const ModelSpec& spec, const ReportVariance& one, std::unique_ptr<BanditModel> model,
    std::span<const NodeStatistics> sums) {
  if (sums.size() != 1 || model->nodes() != 1) {
    return DataLoss("a model with private contexts has ", sums.size(), " nodes");
  }
  std::unique_ptr<ContextSink> sink(new ContextSink(spec, one, std::move(model), sums.front()));
  const absl::Status read = sink->Read();
  if (!read.ok()) return DataLoss("the recovered statistics: ", read.message());
  return sink;
}

ContextSink::ContextSink(const ModelSpec& spec, const ReportVariance& one,
                         std::unique_ptr<BanditModel> model, NodeStatistics sums)
    : BanditLearner(spec, std::move(model)), one_(one), sums_(std::move(sums)) {}

absl::Status ContextSink::AddNode() {
  return Internal("a model with private contexts has one node");
}

void ContextSink::Add(int, std::string_view, const Released<double>&) {
  BANDANA_CHECK(false);  // the state machine takes no event with features here
}

void ContextSink::Join(int, const NodeStatistics& report) {
  JoinContexts(report, sums_);
  stale_ = true;
}

absl::Status ContextSink::Read() {
  auto repaired = RepairStatistics(NoisySums(sums_, one_), spec_.theta_l2_max);
  absl::Status done = repaired.status();
  if (done.ok()) {
    grams_repaired_ += repaired->eigenvalues_clipped > 0 ? 1 : 0;
    done = model_->SetReleased(0, std::move(repaired->statistics));
  }
  if (!done.ok()) return Internal("noisy sums of reports: ", done.message());
  stale_ = false;
  model_->Refresh();
  return absl::OkStatus();
}

}  // namespace bandana
