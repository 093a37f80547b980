#include "server/service/outcomes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/design/privacy_rules.h"
#include "server/service/context_reports.h"
#include "server/service/counter_reports.h"

namespace bandana::server {
namespace {

// A call's outcomes: those for the model, and the reject reasons of the others by position.
struct Sorted {
  std::vector<ReportedOutcome> accepted;
  std::vector<v1::RejectReason> reasons;  // one an outcome; unspecified = accepted
};

class Sorter {
 public:
  Sorter(const HostedModel& model, TokenCodec& tokens, int outcomes)
      : instance_(model.instance()),
        epoch_(model.epoch()),
        dimension_(model.spec().public_spec.dimension),
        tokens_(tokens) {
    sorted_.accepted.reserve(static_cast<std::size_t>(outcomes));
    sorted_.reasons.reserve(static_cast<std::size_t>(outcomes));
  }

  // Errors: UNAVAILABLE the token could not be looked at.
  absl::Status Add(const std::string& token, std::uint32_t shown, std::optional<double> reward,
                   std::optional<std::uint32_t> output, bool whole_range = false) {
    absl::StatusOr<Decision> decision = tokens_.Open(token);
    if (absl::IsUnavailable(decision.status())) return decision.status();
    sorted_.reasons.push_back(Reason(decision));
    if (sorted_.reasons.back() == v1::REJECT_REASON_UNSPECIFIED) {
      sorted_.accepted.push_back({.decision = *std::move(decision),
                                  .shown = shown,
                                  .reward = reward,
                                  .output = output,
                                  .whole_range = whole_range});
    }
    return absl::OkStatus();
  }

  Sorted Take() { return std::move(sorted_); }

 private:
  v1::RejectReason Reason(const absl::StatusOr<Decision>& decision) const {
    if (!decision.ok()) return v1::TOKEN_INVALID;
    if (decision->instance != instance_ || decision->epoch != epoch_) return v1::TOKEN_FOREIGN;
    if (static_cast<int>(decision->arms.front().features.size()) != dimension_)
      return v1::TOKEN_FOREIGN;
    return v1::REJECT_REASON_UNSPECIFIED;
  }

  const std::array<std::byte, 16> instance_;
  const std::uint64_t epoch_;
  const int dimension_;
  TokenCodec& tokens_;
  Sorted sorted_;
};

void CountRejected(HostedModel& model, const std::vector<v1::RejectReason>& reasons) {
  std::uint64_t invalid = 0;
  std::uint64_t foreign = 0;
  for (const v1::RejectReason reason : reasons) {
    invalid += reason == v1::TOKEN_INVALID;
    foreign += reason == v1::TOKEN_FOREIGN;
  }
  if (invalid > 0) model.CountRejected(v1::REJECTED, v1::TOKEN_INVALID, invalid);
  if (foreign > 0) model.CountRejected(v1::REJECTED, v1::TOKEN_FOREIGN, foreign);
}

template <typename Response>
void Fill(const std::vector<v1::RejectReason>& reasons, const std::vector<ReportResult>& results,
          Response& response) {
  std::size_t next = 0;
  for (const v1::RejectReason reason : reasons) {
    v1::OutcomeResult& result = *response.add_results();
    if (reason != v1::REJECT_REASON_UNSPECIFIED) {
      result.set_code(v1::REJECTED);
      result.set_reason(reason);
    } else {
      result.set_code(results[next].code);
      result.set_reason(results[next].reason);
      ++next;
    }
  }
}

template <typename Response>
void Apply(HostedModel& model, Sorted sorted, Response& response, Finish finish) {
  CountRejected(model, sorted.reasons);
  if (sorted.accepted.empty()) {
    Fill(sorted.reasons, {}, response);
    finish(absl::OkStatus());
    return;
  }
  const std::size_t accepted = sorted.accepted.size();
  // The callback must not own the model: dropped by the log's own thread, it would make the model
  // join itself. A model that is deleted meanwhile completes its pending calls first.
  model.Report(std::move(sorted.accepted),
               [reasons = std::move(sorted.reasons), accepted, &response,
                finish = std::move(finish)](absl::StatusOr<std::vector<ReportResult>> results) {
                 if (!results.ok()) {
                   finish(results.status());
                   return;
                 }
                 BANDANA_CHECK(results->size() == accepted);
                 Fill(reasons, *results, response);
                 finish(absl::OkStatus());
               });
}

absl::StatusOr<Sorted> SortOutcomes(const HostedModel& model, const v1::ReportRequest& request,
                                    int outcomes_max, TokenCodec& tokens) {
  const v1::Mode mode = model.spec().public_spec.mode;
  if (IsLocalMode(mode)) {
    return FailedPrecondition("model is ", v1::Mode_Name(mode),
                              ": rewards are randomized on the device and sent by Submit");
  }
  BANDANA_RETURN_IF_ERROR(CheckCount("outcomes", request.outcomes_size(), outcomes_max));
  Sorter sorter(model, tokens, request.outcomes_size());
  for (const v1::Outcome& outcome : request.outcomes()) {
    const std::optional<double> reward =
        outcome.has_reward() ? std::optional(outcome.reward()) : std::nullopt;
    BANDANA_RETURN_IF_ERROR(sorter.Add(outcome.token(), outcome.shown(), reward, std::nullopt));
  }
  return sorter.Take();
}

absl::StatusOr<Sorted> SortReports(const HostedModel& model, const v1::SubmitRequest& request,
                                   int outcomes_max, TokenCodec& tokens) {
  BANDANA_RETURN_IF_ERROR(CheckCount("reports", request.reports_size(), outcomes_max));
  BANDANA_RETURN_IF_ERROR(CheckPolicy(model, request));
  Sorter sorter(model, tokens, request.reports_size());
  for (const v1::PerturbedReport& report : request.reports()) {
    BANDANA_RETURN_IF_ERROR(sorter.Add(report.token(), report.shown(), std::nullopt,
                                       report.output(), report.whole_range()));
  }
  return sorter.Take();
}

}  // namespace

void ReportOutcomes(HostedModel& model, const v1::ReportRequest& request, int outcomes_max,
                    TokenCodec& tokens, v1::ReportResponse& response, Finish finish) {
  absl::StatusOr<Sorted> sorted = SortOutcomes(model, request, outcomes_max, tokens);
  if (!sorted.ok()) return finish(sorted.status());
  Apply(model, *std::move(sorted), response, std::move(finish));
}

void SubmitReports(HostedModel& model, const v1::SubmitRequest& request, int outcomes_max,
                   TokenCodec& tokens, v1::SubmitResponse& response, Finish finish) {
  const PublicSpec& rules = model.spec().public_spec;
  if (rules.mode == v1::LOCAL_CONTEXT) {
    return SubmitContexts(model, request, outcomes_max, response, std::move(finish));
  }
  if (rules.mode != v1::LOCAL_REWARD) {
    return finish(FailedPrecondition("model is not LOCAL_REWARD: send its rewards by Report"));
  }
  if (request.context_reports_size() > 0) {
    return finish(FailedPrecondition("context_reports: the model is LOCAL_REWARD"));
  }
  const bool counter = rules.mechanism == v1::COUNTER;
  if (counter ? request.reports_size() > 0 : request.counter_reports_size() > 0) {
    return finish(FailedPrecondition(counter ? "reports: the model's mechanism is COUNTER"
                                             : "counter_reports: the model's mechanism is no "
                                               "counter"));
  }
  if (counter) {
    return SubmitCounters(model, request, outcomes_max, tokens, response, std::move(finish));
  }
  absl::StatusOr<Sorted> sorted = SortReports(model, request, outcomes_max, tokens);
  if (!sorted.ok()) return finish(sorted.status());
  Apply(model, *std::move(sorted), response, std::move(finish));
}

}  // namespace bandana::server
