// `bandana-ctl evaluate split`: which of an alias's models brings more, judged over users.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "common/judging/user_split.h"
#include "tools/ctl/admin_client.h"

namespace bandana {

// Fetches the decision logs of the alias's models, with pseudonyms of this call's own, and judges
// the split by the shares of now. Errors: NOT_FOUND no such alias; FAILED_PRECONDITION a model that
// keeps no decisions; the servers'. A split that cannot be judged is an answer with `error`.
absl::StatusOr<SplitAnswer> JudgeSplit(std::span<AdminClient* const> servers,
                                       const std::string& alias, const SplitOptions& options);

std::string SplitText(const SplitAnswer& answer);
// {models: [{model, users, value, low, high}], difference: {value, low, high, users}, open, both,
// skipped, error}; null where there is none.
std::string SplitJson(const SplitAnswer& answer);

}  // namespace bandana
