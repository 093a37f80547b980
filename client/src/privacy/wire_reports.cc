#include "client/src/privacy/wire_reports.h"

#include <algorithm>
#include <utility>

#include "client/src/privacy/report_message.h"

namespace bandana::device {
namespace {

v1::ContextReport ContextReportOf(std::span<const std::byte, 16> id, std::uint64_t epoch) {
  v1::ContextReport report;
  report.set_report_id(id.data(), id.size());
  report.set_epoch(epoch);
  return report;
}

// The bytes read below are our own, verified by the row's digest.
template <typename Report>
std::string ReplaceToken(std::string_view bytes, std::string_view token) {
  Report report;
  report.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  report.set_token(token.data(), token.size());
  return report.SerializeAsString();
}

void AddPerturbed(std::string_view bytes, v1::SubmitRequest& submit, v1::ReportRequest&) {
  submit.add_reports()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}
void AddContext(std::string_view bytes, v1::SubmitRequest& submit, v1::ReportRequest&) {
  submit.add_context_reports()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}
void AddOutcome(std::string_view bytes, v1::SubmitRequest&, v1::ReportRequest& outcomes) {
  outcomes.add_outcomes()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void BySubmit(Transport& transport, const v1::SubmitRequest& submit, const v1::ReportRequest&,
              const CallOptions& options, OnResults done) {
  transport.Submit(submit, options,
                   [done = std::move(done)](const Answer& answer, v1::SubmitResponse& response) {
                     done(answer, response.results());
                   });
}
void ByReport(Transport& transport, const v1::SubmitRequest&, const v1::ReportRequest& outcomes,
              const CallOptions& options, OnResults done) {
  transport.Report(outcomes, options,
                   [done = std::move(done)](const Answer& answer, v1::ReportResponse& response) {
                     done(answer, response.results());
                   });
}

Attempts UntilAnswered(absl::Duration deadline, absl::Duration) {
  return {.deadline = deadline, .lifetime = std::nullopt};
}
// An attempt must end before the server forgets the report's id.
Attempts WhileRemembered(absl::Duration deadline, absl::Duration token_lifetime) {
  deadline = std::min(deadline, token_lifetime / 2);
  return {.deadline = deadline, .lifetime = token_lifetime - deadline};
}

}  // namespace

std::string PerturbedReportBytes(std::string_view token, int shown, const PerturbedReward& reward,
                                 bool whole_range) {
  v1::PerturbedReport report;
  report.set_token(token.data(), token.size());
  report.set_shown(static_cast<std::uint32_t>(shown));
  report.set_output(reward.output());
  report.set_whole_range(whole_range);
  return report.SerializeAsString();
}

std::string ContextReportBytes(std::span<const std::byte, 16> id, std::uint64_t epoch,
                               const PerturbedDirection& direction) {
  v1::ContextReport report = ContextReportOf(id, epoch);
  report.set_seed(direction.seed().data(), direction.seed().size());
  return report.SerializeAsString();
}

std::string ContextReportBytes(std::span<const std::byte, 16> id, std::uint64_t epoch,
                               const PerturbedStatistics& statistics) {
  v1::ContextReport report = ContextReportOf(id, epoch);
  report.mutable_values()->Add(statistics.grid().begin(), statistics.grid().end());
  return report.SerializeAsString();
}

std::string OutcomeBytes(std::string_view token, int shown, std::optional<double> reward) {
  v1::Outcome outcome;
  outcome.set_token(token.data(), token.size());
  outcome.set_shown(static_cast<std::uint32_t>(shown));
  if (reward) outcome.set_reward(*reward);
  return outcome.SerializeAsString();
}

const ReportMessage kPerturbedForm = {.send = BySubmit,
                                      .attempts = UntilAnswered,
                                      .add = AddPerturbed,
                                      .with_token = ReplaceToken<v1::PerturbedReport>};
const ReportMessage kOutcomeForm = {.send = ByReport,
                                    .attempts = UntilAnswered,
                                    .raw = true,
                                    .add = AddOutcome,
                                    .with_token = ReplaceToken<v1::Outcome>};
const ReportMessage kContextForm = {
    .send = BySubmit, .attempts = WhileRemembered, .by_id = true, .add = AddContext};

}  // namespace bandana::device
