#include "common/model/learners/context_sink.h"

#include <utility>

#include "common/bandits/fading.h"
#include "common/base/status.h"

namespace bandana {

NoisyStatistics NoisySums(const NodeStatistics& sums, const ReportVariance& one) {
  const double reports = static_cast<double>(sums.events) - sums.noise_faded;
  return {.gram = sums.gram,
          .moment = sums.moment,
          .events = sums.events,
          .gram_variance = reports * one.gram,
          .moment_variance = reports * one.moment};
}

absl::StatusOr<std::unique_ptr<ContextSink>> ContextSink::Create(const ModelSpec& spec,
                                                                 const ReportVariance& one,
                                                                 const ModelState& state,
                                                                 std::vector<NodeStatistics> sums) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model,
                           MakeBandit(spec, state, sums.size()));
  if (sums.size() != 1 || model->nodes() != 1) {
    return DataLoss("a model with private contexts has ", sums.size(), " nodes");
  }
  BANDANA_RETURN_IF_ERROR(AsRecovered(CheckSteps(sums.front(), state.fading.steps())));
  std::unique_ptr<ContextSink> sink(new ContextSink(spec, one, std::move(model), sums.front()));
  sink->steps_ = state.fading.steps();
  BANDANA_RETURN_IF_ERROR(AsRecovered(sink->Read()));
  return sink;
}

ContextSink::ContextSink(const ModelSpec& spec, const ReportVariance& one,
                         std::unique_ptr<BanditModel> model, NodeStatistics sums)
    : BanditLearner(spec, std::move(model)), one_(one), sums_(std::move(sums)) {}

void ContextSink::AddReport(const Released<JointEstimate>& report) {
  FadeReportsTo(steps_, sums_);
  JoinReport(report, sums_);
  stale_ = true;
}

void ContextSink::FadeTo(std::uint64_t steps) {
  if (std::exchange(steps_, steps) == steps) return;
  model_->FadeTo(steps);
  stale_ = stale_ || sums_.events > 0;
}

absl::Status ContextSink::Read() {
  NodeStatistics present = sums_;
  FadeReportsTo(steps_, present);
  auto repaired = RepairStatistics(NoisySums(present, one_), spec_.theta_l2_max);
  absl::Status done = repaired.status();
  if (done.ok()) {
    grams_repaired_ += repaired->eigenvalues_clipped > 0 ? 1 : 0;
    repaired->statistics.steps = steps_;
    done = model_->SetReleased(0, std::move(repaired->statistics));
  }
  if (!done.ok()) return Internal("noisy sums of reports: ", done.message());
  stale_ = false;
  model_->Refresh();
  return absl::OkStatus();
}

}  // namespace bandana
