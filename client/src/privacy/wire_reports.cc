#include "client/src/privacy/wire_reports.h"

#include "bandana/v1/recommender.pb.h"

namespace bandana::device {
namespace {

v1::ContextReport ContextReportOf(std::span<const std::byte, 16> id, std::uint64_t epoch) {
  v1::ContextReport report;
  report.set_report_id(id.data(), id.size());
  report.set_epoch(epoch);
  return report;
}

// What is read below are our own bytes, verified by the row's digest.
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

const ReportMessage kPerturbedForm = {
    .submitted = true, .add = AddPerturbed, .with_token = ReplaceToken<v1::PerturbedReport>};
const ReportMessage kOutcomeForm = {.add = AddOutcome, .with_token = ReplaceToken<v1::Outcome>};
const ReportMessage kContextForm = {.submitted = true, .by_id = true, .add = AddContext};

}  // namespace bandana::device
