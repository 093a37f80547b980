// Answers of a model about the decisions that are kept here.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "server/decisions/decision_log.h"
#include "server/models/apply_loop.h"
#include "server/models/decision_part.h"
#include "server/models/log_clock.h"
#include "server/models/served_model.h"

namespace bandana::server {

// For one call. Everything is read once nothing that was deleted is in it.
class DecisionAnswers {
 public:
  // All must outlive it; `log` null: none is kept, `part` null: no other server has one.
  DecisionAnswers(const ModelSpec& spec, const InstanceId& instance, DecisionLog* log,
                  DecisionPart* part, const LogClock& clock)
      : spec_(spec), instance_(instance), log_(log), part_(part), clock_(clock) {}

  // LoggedModel::ExportDecisions.
  absl::StatusOr<LoggedModel::DecisionFiles> Files(const DecisionExport::Range& range) const;
  // LoggedModel::AnswerPart. `loop` applies the entries that are asked for.
  absl::StatusOr<PartAnswer> Answer(const PartQuestion& question, ApplyLoop& loop) const;
  // The user's lines that are here, each as JSON.
  absl::StatusOr<std::vector<std::string>> LinesOf(const std::string& user) const;

 private:
  absl::Status CheckKept() const;

  const ModelSpec& spec_;
  const InstanceId& instance_;
  DecisionLog* const log_;
  DecisionPart* const part_;
  const LogClock& clock_;
};

}  // namespace bandana::server
