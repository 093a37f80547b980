// Report and Submit: a call's reports to the models that they are for, and their answers back.
#pragma once

#include "bandana/v1/recommender.pb.h"
#include "server/service/report_targets.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// Both answer one result per report, in the request's order: REJECTED with TOKEN_INVALID for bytes
// that no key opens, TOKEN_FOREIGN for tokens of another name, model, instance or epoch (each
// counted by the first of the targets), and the model's own answer for the others. `finish` is
// called once, by this thread or by the log thread of a model; `response` must live until then.
// Errors: INVALID_ARGUMENT the number or shape of reports; FAILED_PRECONDITION Report on a local
// model, Submit on another, reports that the model's mechanism does not have, Submit under another
// policy; UNAVAILABLE a log did not take the call, or a model is absent (nothing is promised,
// repeat it).
void ReportOutcomes(ReportTargets& to, const v1::ReportRequest& request, int outcomes_max,
                    TokenCodec& tokens, v1::ReportResponse& response, Finish finish);
void SubmitReports(ReportTargets& to, const v1::SubmitRequest& request, int reports_max,
                   TokenCodec& tokens, v1::SubmitResponse& response, Finish finish);

}  // namespace bandana::server
