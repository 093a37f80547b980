// GetArmEffects: what the arms of a catalogue, or of one of its tags, add to their scores by
// themselves, page by page.
#pragma once

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "server/models/served_model.h"

namespace bandana::server {

// Arms of one page: 12 bytes of ids, means and variances each, as in a page of a posterior.
inline constexpr int kArmEffectsPageArms = 16 * 1024;

// Fills `response` (empty before). A zero if_newer_than asks unconditionally. No arm with the tag:
// an empty page, as of a query. A change of the catalogue alone makes nothing newer. Errors:
// INVALID_ARGUMENT first_arm beyond every arm id, the tag's length; FAILED_PRECONDITION see
// Family::CheckArmEffects.
absl::Status FillArmEffects(const SelectingModel& model, const v1::GetArmEffectsRequest& request,
                            v1::GetArmEffectsResponse& response);

}  // namespace bandana::server
