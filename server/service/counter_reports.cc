#include "server/service/counter_reports.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// Reports for the model, and which of the call's they are; the others have a token of another
// model, instance or epoch.
struct Opened {
  std::vector<ReportedCounter> reports;
  std::vector<bool> foreign;  // one a report of the call
};

absl::Status CheckShape(const HostedModel& model, const v1::SubmitRequest& request, int steps_max) {
  BANDANA_RETURN_IF_ERROR(CheckCount("counter_reports", request.counter_reports_size(), steps_max));
  const int dimension = model.spec().public_spec.dimension;
  int steps = 0;
  for (const v1::CounterReport& report : request.counter_reports()) {
    if (report.stream().size() != sizeof(ReportedCounter::stream)) {
      return InvalidArgument("stream: must have 16 bytes, got ", report.stream().size());
    }
    if (report.moment_size() != dimension) {
      return InvalidArgument("moment: must have ", dimension, " entries, got ",
                             report.moment_size());
    }
    if (report.steps_size() < 1 ||
        static_cast<std::uint64_t>(report.steps_size()) > report.step()) {
      return InvalidArgument("steps: must be 1 to step = ", report.step(), ", got ",
                             report.steps_size());
    }
    steps += report.steps_size();
  }
  return CheckCount("steps", steps, steps_max);
}

// Errors: UNAVAILABLE a token could not be looked at.
absl::StatusOr<Opened> OpenTokens(const HostedModel& model, const v1::SubmitRequest& request,
                                  TokenCodec& tokens) {
  Opened opened;
  for (const v1::CounterReport& report : request.counter_reports()) {
    ReportedCounter out;
    std::memcpy(out.stream.data(), report.stream().data(), out.stream.size());
    out.step = report.step();
    out.moment.assign(report.moment().begin(), report.moment().end());
    bool foreign = false;
    for (const v1::CounterStep& step : report.steps()) {
      absl::StatusOr<Decision> decision = tokens.Open(step.token());
      if (absl::IsUnavailable(decision.status())) return decision.status();
      out.shown.push_back(step.shown());
      if (!decision.ok()) {
        out.decisions.emplace_back();
        continue;
      }
      foreign =
          foreign || decision->instance != model.instance() || decision->epoch != model.epoch();
      out.decisions.emplace_back(*std::move(decision));
    }
    opened.foreign.push_back(foreign);
    if (!foreign) opened.reports.push_back(std::move(out));
  }
  return opened;
}

void Fill(const std::vector<bool>& foreign, const std::vector<ReportResult>& results,
          v1::SubmitResponse& response) {
  std::size_t next = 0;
  for (const bool refused : foreign) {
    v1::CounterResult& out = *response.add_counter_results();
    if (refused) {
      out.set_code(v1::REJECTED);
      out.set_reason(v1::TOKEN_FOREIGN);
      continue;
    }
    const ReportResult& result = results[next++];
    out.set_code(result.code);
    out.set_reason(result.reason);
    out.set_acknowledged_step(result.acknowledged_step);
  }
}

}  // namespace

absl::Status CheckCount(std::string_view field, int count, int max) {
  if (count >= 1 && count <= max) return absl::OkStatus();
  return InvalidArgument(ToAbsl(field), ": 1 to ", max, " in a call, got ", count);
}

absl::Status CheckPolicy(const HostedModel& model, const v1::SubmitRequest& request) {
  if (request.policy_hash().size() != sizeof(Sha256Digest)) {
    return InvalidArgument("policy_hash: must have ", sizeof(Sha256Digest), " bytes, got ",
                           request.policy_hash().size());
  }
  const Sha256Digest policy = model.spec().public_spec.PolicyHash();
  if (ToAbsl(request.policy_hash()) != ToAbsl(AsChars(policy))) {
    return FailedPrecondition(
        "policy_hash: the model's policy has changed; read it anew with GetModel");
  }
  return absl::OkStatus();
}

void SubmitCounters(HostedModel& model, const v1::SubmitRequest& request, int steps_max,
                    TokenCodec& tokens, v1::SubmitResponse& response, Finish finish) {
  absl::Status checked = CheckShape(model, request, steps_max);
  if (checked.ok()) checked = CheckPolicy(model, request);
  if (!checked.ok()) return finish(checked);
  absl::StatusOr<Opened> opened = OpenTokens(model, request, tokens);
  if (!opened.ok()) return finish(opened.status());
  const auto foreign = std::count(opened->foreign.begin(), opened->foreign.end(), true);
  if (foreign > 0) {
    model.CountRejected(v1::REJECTED, v1::TOKEN_FOREIGN, static_cast<std::uint64_t>(foreign));
  }
  if (opened->reports.empty()) {
    Fill(opened->foreign, {}, response);
    return finish(absl::OkStatus());
  }
  const std::size_t count = opened->reports.size();
  // The callback must not own the model (outcomes.cc).
  model.ReportCounters(
      std::move(opened->reports),
      [foreign = std::move(opened->foreign), count, &response,
       finish = std::move(finish)](absl::StatusOr<std::vector<ReportResult>> results) {
        if (!results.ok()) return finish(results.status());
        BANDANA_CHECK(results->size() == count);
        Fill(foreign, *results, response);
        finish(absl::OkStatus());
      });
}

}  // namespace bandana::server
