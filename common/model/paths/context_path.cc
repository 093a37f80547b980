#include "common/model/paths/context_path.h"

#include "common/base/status.h"
#include "common/model/learners/context_sink.h"
#include "common/model/state/model_state.h"

namespace bandana {

absl::StatusOr<Released<JointEstimate>> ContextPath::Read(const ContextRecord& report) const {
  const std::vector<std::int64_t> values = report.values.Values();
  BANDANA_ASSIGN_OR_RETURN(JointEstimate estimate,
                           reports_.Decode({.seed = report.seed, .values = values}));
  return Released<JointEstimate>(std::move(estimate));
}

absl::Status ContextPath::TakeContext(const ContextRecord& record, const Applying& to) const {
  BANDANA_ASSIGN_OR_RETURN(const Released<JointEstimate> estimate, Read(record));
  PartOf<ReportSums>(to.sink).AddReport(estimate);
  return absl::OkStatus();
}

absl::Status ContextPath::Fade(std::uint64_t steps, EventSink& sink) const {
  PartOf<FadingSums>(sink).FadeTo(steps);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Learner>> ContextPath::MakeLearner(
    const ModelSpec& spec, const ModelState& state, std::vector<NodeStatistics> statistics) const {
  return ContextSink::Create(spec, reports_.variance(), state, std::move(statistics));
}

}  // namespace bandana
