// Decisions that callers name: decided once, then found by their names.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "server/models/model_directory.h"
#include "server/service/decisions/decision_index.h"
#include "server/service/tokens/token.h"

namespace bandana::server {

// The objects that serve a Select.
struct SelectServices {
  const ModelDirectory& registry;
  TokenCodec& tokens;
  DecisionIndex& decision_index;
  int arms_max = 0;
};

// As Select (selection.h); a request with a decision_id that the present caller (CurrentCaller) has
// used before under the name gets the original answer, byte for byte, and nothing else happens.
// Errors: those of CheckPolicy, before anything else; of Select; ALREADY_EXISTS, RESOURCE_EXHAUSTED
// and UNAVAILABLE of DecisionIndex::Take.
absl::Status SelectOnce(const ResolvedModel& to, const v1::SelectRequest& request, absl::Time now,
                        const SelectServices& services, v1::SelectResponse& response);

// See ReportTargets::TokensOf.
std::vector<std::string> NamedTokens(DecisionIndex& decision_index, const ResolvedModel& asked,
                                     const std::string& decision_id);

}  // namespace bandana::server
