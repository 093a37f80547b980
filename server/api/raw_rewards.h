// How the HTTP API treats raw rewards and private contexts, by the mode of their model.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

struct RawRewardRule {
  v1::Mode mode{};
  std::string_view refused;  // why it takes none; empty: it does
  bool any_counts = false;   // no reward is refused for its value: what is no number is the default
  std::string_view no_slots;  // why several arms of one decision are refused; empty: they are not
};

// A mode that this version does not know takes none.
const RawRewardRule& RawRewardsOf(v1::Mode mode);

// The rule of a model that takes raw rewards. Errors: of GetModel; FAILED_PRECONDITION it takes
// none, in words that name the SDK.
absl::StatusOr<const RawRewardRule*> RuleForReports(Handlers& handlers, const std::string& model);

// Whether the model hides contexts, so that no decision is refused for a value in its context or
// its arms: what is none is missing. False: there is no such model.
bool TakesAnyContext(Handlers& handlers, const std::string& model);

}  // namespace bandana::server
