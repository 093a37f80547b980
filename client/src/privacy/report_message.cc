#include "client/src/privacy/report_message.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "client/core/report_bytes.h"

namespace bandana::device {
namespace {

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

void UnpackArm(std::string_view bytes, v1::InlineArms& arms) {
  const std::size_t count = bytes.size() / sizeof(double);
  std::vector<double> features(count);
  std::memcpy(features.data(), bytes.data(), count * sizeof(double));
  arms.mutable_features()->Add(features.begin(), features.end());
  if (bytes.size() == count * sizeof(double)) return;
  std::uint32_t id = 0;
  std::memcpy(&id, bytes.data() + count * sizeof(double), sizeof id);
  arms.add_ids(id);
}

const ReportMessage kPerturbedForm = {
    .send = BySubmit, .attempts = UntilAnswered, .add = AddPerturbed, .with_token = ReplaceToken};
const ReportMessage kOutcomeForm = {.send = ByReport,
                                    .attempts = UntilAnswered,
                                    .raw = true,
                                    .add = AddOutcome,
                                    .with_token = ReplaceToken};
const ReportMessage kContextForm = {
    .send = BySubmit, .attempts = WhileRemembered, .by_id = true, .add = AddContext};

}  // namespace bandana::device
