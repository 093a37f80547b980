#include "common/design/judgeable.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/mode_limits.h"
#include "common/design/server_mechanism_table.h"
#include "common/promise/mechanism.h"
#include "common/promise/mode.h"
#include "common/promise/reward_reports.h"

namespace bandana {

std::string WhyNoRewards(const PublicSpec& spec) {
  const std::string_view refused = LimitsOf(spec.mode).no_decision_log;
  if (!refused.empty()) {
    return absl::StrCat("none in mode ", ModeName(spec.mode), ": ", ToAbsl(refused),
                        ". LOCAL_REWARD with REWARD_RANDOMIZER and a policy can show one");
  }
  if (!ServerRowOf(spec).releases_events()) {
    return absl::StrCat("none with mechanism ", MechanismName(spec.mechanism),
                        ": no event has a released reward of its own. REWARD_RANDOMIZER gives "
                        "each one");
  }
  if (!ServerRowOf(spec).windows_of_widths) return "";
  return absl::StrCat("none with mechanism ", MechanismName(spec.mechanism),
                      ": rewards are unbiased inside a window around the model's own prediction. "
                      "REWARD_RANDOMIZER can show one; bandana-ctl evaluate --clipped judges "
                      "clipped rewards");
}

std::string WhyNoLift(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  if (std::string why = WhyNoRewards(p); !why.empty()) return why;
  const Family& family = FamilyOf(spec);
  if (family.choice() == Family::Choice::kPoint) {
    return "none of points: a point has no propensity, and no policy but its own could be judged. "
           "Models of arms with a policy can show one";
  }
  if (family.choice() == Family::Choice::kDraw && !family.centres_shares(spec)) {
    return "none: arms are chosen without chance, so no other choice can be judged. "
           "arms { policy: TSALLIS_INF } draws them";
  }
  if (family.choice() == Family::Choice::kRank && spec.policy == nullptr) {
    return "none: arms are chosen without chance, so no other choice can be judged. "
           "policy { uniform_mix { uniform_share: 0.1 } } draws them";
  }
  if (!p.one_per_decision && !p.reward_window) {
    return "none: a decision without a report has no reward. reporting { one_per_decision: true } "
           "gives it the least, a reward_window its default; bandana-ctl evaluate --unreported "
           "says another";
  }
  if (!spec.decision_log) return "none: decisions are not kept. decision_log {} does";
  return "";
}

std::optional<RewardRange> ReleasedRange(const ModelSpec& spec) {
  const RewardReports* const rewards = spec.public_spec.made->rewards();
  if (rewards == nullptr) return std::nullopt;
  const auto value = [&](std::uint32_t output) {
    const auto read = rewards->Read({.output = output, .whole_range = rewards->uses_windows()},
                                    spec.reward_stddev);
    return std::get<RewardEvent>(read).value;  // it takes every one of its outputs
  };
  const double first = value(0);
  const double last = value(rewards->outputs() - 1);
  return RewardRange{std::min(first, last), std::max(first, last)};
}

}  // namespace bandana
