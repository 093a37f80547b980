#include "common/design/mode_limits.h"

#include <algorithm>
#include <iterator>

#include "common/base/limits.h"

namespace bandana {
namespace {

constexpr std::string_view kNobodyCounts =
    "must be 0 where users may share a node: callers of the mode need no SDK that counts, and the "
    "server cannot tell whose an event is; independent {} gives each user a node";

constexpr std::string_view kSecretRanking =
    "a ranking is itself a secret of its round where contexts are private";

constexpr std::string_view kNoValues =
    "a mean of raw rewards would be a release without noise, and arms are chosen without chance, "
    "so nothing but that mean could be judged";

constexpr ModeLimits kLimits[] = {
    {.mode = Mode::kNonPrivate,
     .no_rewarded = "",
     .logs_contexts = true,
     .parse_privacy = RefusePrivacy},
    {.mode = Mode::kCentralReward, .shared_limit = kNobodyCounts, .no_decision_log = kNoValues},
    {.mode = Mode::kJoint,
     .plain_names = "contexts are private, and whoever guesses it could try guesses of what was on "
                    "offer",
     .shared_limit = kNobodyCounts,
     .no_shown = kSecretRanking,
     .no_decision_log = kNoValues,
     .ranks_in_token = kSealedRanksMax},
    {.mode = Mode::kLocalContext,
     .no_shown = kSecretRanking,
     .no_decision_log = "devices choose, so the server knows no decision"},
};
constexpr ModeLimits kNone;

}  // namespace

const ModeLimits& LimitsOf(Mode mode) {
  const auto* const found = std::ranges::find(kLimits, mode, &ModeLimits::mode);
  return found == std::end(kLimits) ? kNone : *found;
}

}  // namespace bandana
