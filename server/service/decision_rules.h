// The rules for a request's decision, beside its arms.
#pragma once

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "common/design/model_spec.h"

namespace bandana::server {

// Most bytes of SelectRequest.decision_id.
inline constexpr int kDecisionIdBytesMax = 64;

// Errors: INVALID_ARGUMENT a decision id that is too long or has control characters, or that
// anybody could guess where contexts are private; fields that exclude each other; slots, a
// deferral, rules or a baseline where the model's mode, family or reporting has none.
absl::Status CheckDecisionFields(const v1::SelectRequest& request, const ModelSpec& spec);

// Whether anything is learnt from the decision.
inline bool Learns(const v1::SelectRequest& request) {
  return !request.has_learn() || request.learn();
}

}  // namespace bandana::server
