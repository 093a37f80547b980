// GetPosterior: the published posterior of one user, or of all nodes page by page.
#pragma once

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "server/models/served_model.h"

namespace bandana::server {

// Bytes of means, covariances and alphas in one page, except that a page has at least one node
// (about 260 kB at d = 256).
inline constexpr int kPosteriorPageBytes = 192 * 1024;

// Fills `response` (empty before). A zero if_newer_than asks unconditionally, also for version 0.
// Errors: INVALID_ARGUMENT user id's length, first_node beyond the last node; NOT_FOUND unknown
// user; FAILED_PRECONDITION a model of arms or of points, a sparse one, or one of effects that give
// an arm more than a mean and a variance of its own.
absl::Status FillPosterior(const SelectingModel& model, const v1::GetPosteriorRequest& request,
                           v1::GetPosteriorResponse& response);

}  // namespace bandana::server
