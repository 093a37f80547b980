#include "tests/support/model_harness.h"

#include <google/protobuf/text_format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <thread>
#include <utility>

#include "server/models/folder/export.h"

namespace bandana::testing {

ModelSpec SpecOf(const std::string& text) {
  v1::ModelConfig config;
  std::vector<ConfigError> errors;
  std::optional<ModelSpec> spec;
  if (google::protobuf::TextFormat::ParseFromString(text, &config)) {
    spec = ParseModelConfig(config, "", /*allow_files=*/true, errors);
  }
  if (spec) return *std::move(spec);
  std::fprintf(stderr, "bad configuration:\n%s\n", text.c_str());
  for (const ConfigError& e : errors) {
    std::fprintf(stderr, "%s: %s\n", e.field.c_str(), e.message.c_str());
  }
  std::abort();
}

ModelSpec SharedSpec(const std::string& more) {
  return SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE shared {} " + more);
}

ModelSpec IndependentSpec(const std::string& more, const std::string& coupling) {
  return SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE independent {" + coupling + "} " + more);
}

ModelSpec LocalColinSpec(const std::string& more) {
  return SpecOf(
      "name: 'm' dimension: 2 mode: LOCAL_REWARD colin { graph { users: 3"
      " rows: [0, 1, 2, 0, 1] columns: [0, 1, 2, 1, 2] weights: [1, 1, 1, 0.5, 0.5] } }"
      " privacy { epsilon: 1 events_per_user_max: 3 } reporting { one_per_decision: true } " +
      more);
}

ModelSpec WindowSpec(const std::string& more) {
  return SpecOf(
      "name: 'm' dimension: 2 mode: NON_PRIVATE shared {}"
      " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } } " +
      more);
}

Decision DecisionOf(const server::ServedModel& model, const Clock& clock, std::uint64_t number,
                    std::vector<double> features, const std::string& user) {
  Decision decision;
  decision.instance = model.instance();
  decision.epoch = model.epoch();
  std::memcpy(decision.id.data() + 8, &number, sizeof number);  // as a server numbers them
  decision.time = model.TimeAt(clock.Now());
  if (model.spec().coupling.independent()) {
    decision.user = user;
  } else {
    decision.node = user.empty() ? 0 : std::atoi(user.c_str());
  }
  decision.arms.push_back({.propensity = 1, .features = std::move(features)});
  return decision;
}

absl::StatusOr<std::vector<ReportResult>> ReportAll(server::ServedModel& model,
                                                    std::vector<ReportedOutcome> outcomes) {
  server::HostedModel* const owned = model.owned();
  if (owned == nullptr) return server::OwnedElsewhere(model);
  std::promise<absl::StatusOr<std::vector<ReportResult>>> promise;
  owned->Report(std::move(outcomes), [&promise](auto results) { promise.set_value(results); });
  return promise.get_future().get();
}

absl::StatusOr<ReportResult> ReportOne(server::ServedModel& model, const Decision& decision,
                                       std::optional<double> reward, std::uint32_t shown) {
  ReportedOutcome outcome{.decision = decision, .shown = shown};
  if (model.spec().public_spec.mode == Mode::kLocalReward) {
    if (reward) outcome.output = static_cast<std::uint32_t>(*reward);
  } else {
    outcome.reward = reward;
  }
  auto results = ReportAll(model, {outcome});
  if (!results.ok()) return results.status();
  return results->front();
}

v1::OutcomeCode CodeOf(const absl::StatusOr<ReportResult>& result) {
  return result.ok() ? result->code : v1::OUTCOME_CODE_UNSPECIFIED;
}

v1::RejectReason ReasonOf(const absl::StatusOr<ReportResult>& result) {
  return result.ok() ? result->reason : v1::REJECT_REASON_UNSPECIFIED;
}

std::vector<NodeStatistics> StatisticsOf(server::HostedModel& model) {
  const absl::StatusOr<std::string> bytes = model.Export();
  if (!bytes.ok()) std::abort();
  absl::StatusOr<server::ExportedModel> exported = server::DecodeExport(*bytes);
  if (!exported.ok()) std::abort();
  return std::move(exported->checkpoint.statistics);
}

NodePosterior NodeOf(const ServedPosterior& posterior, int node) {
  NodePosterior scratch;
  return posterior.Of({.node = node}, scratch);
}

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

}  // namespace bandana::testing
