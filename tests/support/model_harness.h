// Helpers that tests of hosted models share: specs from text, decisions, reports that wait.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/design/model_spec.h"
#include "server/models/hosted_model.h"
#include "tests/support/fake_clock.h"

namespace bandana::testing {

// From a ModelConfig in text form; aborts with the mistakes.
ModelSpec SpecOf(const std::string& config);

// name, dimension 2, non-private, shared, with `more` appended.
ModelSpec SharedSpec(const std::string& more = "");
ModelSpec IndependentSpec(const std::string& more = "", const std::string& coupling = "");
// Every reported reward randomized; users 0 .. 2 on a chain.
ModelSpec LocalColinSpec(const std::string& more = "");
// shared, reward window of one minute, default reward 0.25.
ModelSpec WindowSpec(const std::string& more = "");

// A decision of this model now, with one arm. `number` makes the id.
Decision DecisionOf(const server::ServedModel& model, const Clock& clock, std::uint64_t number,
                    std::vector<double> features, const std::string& user = "");

// Reports and waits for the answer.
absl::StatusOr<std::vector<ReportResult>> ReportAll(server::ServedModel& model,
                                                    std::vector<ReportedOutcome> outcomes);
absl::StatusOr<ReportResult> ReportOne(server::ServedModel& model, const Decision& decision,
                                       std::optional<double> reward, std::uint32_t shown = 0);
// The code, or UNSPECIFIED when the call failed.
v1::OutcomeCode CodeOf(const absl::StatusOr<ReportResult>& result);
v1::RejectReason ReasonOf(const absl::StatusOr<ReportResult>& result);

// Events and moments of every node, from a checkpoint of the model: what the statistics are.
std::vector<NodeStatistics> StatisticsOf(server::HostedModel& model);

// The posterior of a node, copied.
NodePosterior NodeOf(const ServedPosterior& posterior, int node);

// Waits until the condition holds, at most ten seconds; its last value.
bool Eventually(const std::function<bool()>& condition);

}  // namespace bandana::testing
