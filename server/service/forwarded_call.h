// Calls about models that other servers own: forwarded to the owners, and the answers put together.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/recommender.pb.h"
#include "server/service/owners/owner_channels.h"
#include "server/service/router.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// How this server answers a call, or its part of one, by itself.
template <typename Request, typename Response>
using Here = std::function<void(const Request&, Response&, Finish)>;

// A call whose reports are all for one server goes there as it is: no byte of it is made anew. Else
// each server gets its reports under the name that was asked, and the call succeeds or fails as
// SplitCall says. `response` must live until `finish`, `request` and `here` until the return.
// Errors: those of `routes`; UNAVAILABLE an owner does not answer.
void Forward(const v1::ReportRequest& request,
             const absl::StatusOr<std::vector<ReportRoute>>& routes, OwnerChannels& owners,
             const Here<v1::ReportRequest, v1::ReportResponse>& here, v1::ReportResponse& response,
             Finish finish);
void Forward(const v1::ActivateRequest& request,
             const absl::StatusOr<std::vector<ReportRoute>>& routes, OwnerChannels& owners,
             const Here<v1::ActivateRequest, v1::ActivateResponse>& here,
             v1::ActivateResponse& response, Finish finish);
void Forward(const v1::SubmitRequest& request,
             const absl::StatusOr<std::vector<ReportRoute>>& routes, OwnerChannels& owners,
             const Here<v1::SubmitRequest, v1::SubmitResponse>& here, v1::SubmitResponse& response,
             Finish finish);

}  // namespace bandana::server
