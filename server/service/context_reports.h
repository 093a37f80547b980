// Submit of a model whose contexts are private: shapes checked, nothing else looked at.
#pragma once

#include "bandana/v1/recommender.pb.h"
#include "server/service/report_targets.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// The call's reports to the model, with one result each, in order. A call may hold context reports
// and nothing else: fields that this version does not know are refused as well, because they
// might name a user. Reports have no token: under an alias they are for the model that it stands
// for, and TOKEN_FOREIGN when they were drawn for another. Requires a LOCAL_CONTEXT model. Errors:
// INVALID_ARGUMENT another shape (number of reports, of the id's or seed's bytes, of integers),
// other reports, unknown fields, an id twice; FAILED_PRECONDITION another policy; UNAVAILABLE the
// log did not take the call.
void SubmitContexts(ReportTargets& to, const v1::SubmitRequest& request, int reports_max,
                    v1::SubmitResponse& response, Finish finish);

}  // namespace bandana::server
