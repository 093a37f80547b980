// The models that one call's reports are for: the model that it names, or those that made decisions
// under the alias that it names.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/models/model_directory.h"
#include "server/service/decisions/decision_index.h"
#include "server/service/tokens/asked_decision.h"

namespace bandana::server {

// Lives on the stack of a call: the models that it found stay with it until they have the reports.
// Not thread-safe.
class ReportTargets {
 public:
  // `first`: one of them. All make its promise and take reports of its form; reports refused before
  // their model is known are counted there. `registry` must outlive the object.
  // `decision_index`: of the decisions that callers name; null: nobody does.
  ReportTargets(const ModelDirectory& registry, ResolvedModel first,
                DecisionIndex* decision_index = nullptr)
      : registry_(registry), first_(std::move(first)), decision_index_(decision_index) {}

  const ResolvedModel& resolved() const { return first_; }
  ServedModel& first() const { return *first_.model; }

  // Who made the decision. It is reported under the name that it was asked by, also when the alias
  // stands for other models by now. nullptr: a decision of another name, of a model that is gone,
  // of an earlier instance, or of one that has left the alias's policy. Errors: UNAVAILABLE the
  // model is absent, or is not owned here.
  absl::StatusOr<ServedModel*> MakerOf(const AskedDecision& decision);
  // The tokens of a decision that the present caller has named under the name, one per slot; none
  // where it is not known, or not any more.
  std::vector<std::string> TokensOf(const std::string& decision_id) const;

 private:
  // A model that stands or stood behind the alias; null: there is none that could.
  absl::StatusOr<ServedModel*> Behind(const std::string& name);

  const ModelDirectory& registry_;
  const ResolvedModel first_;
  DecisionIndex* const decision_index_;
  std::vector<std::pair<std::string, std::shared_ptr<ServedModel>>> found_;  // null: refused
};

}  // namespace bandana::server
