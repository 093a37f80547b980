// Reports of one decision each: raw rewards by Report, outputs that devices drew by Submit.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bandana/v1/recommender.pb.h"
#include "server/service/report_targets.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// See reports.h. Requires a model whose devices send rewards.
void TakeRewards(ReportTargets& to, const v1::ReportRequest& request, int outcomes_max,
                 TokenCodec& tokens, v1::ReportResponse& response, Finish finish);
// The token of the decision that an outcome names, the call's `index`-th; none where it names none
// that is known. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::optional<std::string>> TokenOf(const ReportTargets& to, int index,
                                                   const v1::Outcome& outcome);
// Requires a model whose devices send outputs.
void SubmitOutputs(ReportTargets& to, const v1::SubmitRequest& request, int reports_max,
                   TokenCodec& tokens, v1::SubmitResponse& response, Finish finish);

}  // namespace bandana::server
