#include "common/decisions/check_decision.h"

#include <cmath>
#include <span>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/decisions/decision_fault.h"

namespace bandana {
namespace {

// Released values are computed on two sides; an end may be off by a rounding.
constexpr double kReleasedError = 1e-9;

std::string LawProblem(std::string_view field, std::span<const double> law, bool whole) {
  double sum = 0;
  for (const double p : law) {
    if (!(p >= 0 && p <= 1)) {
      return absl::StrCat(ToAbsl(field), ": must be in [0, 1], got ", p);
    }
    sum += p;
  }
  if (sum > 1 + kPropensitySumError || (whole && sum < 1 - kPropensitySumError)) {
    return absl::StrCat(ToAbsl(field), ": must add up to ", whole ? "1" : "at most 1", ", got ",
                        sum);
  }
  return "";
}

std::string PropensityProblem(const LoggedSlot& slot) {
  if (!(slot.chosen_p > 0 && slot.chosen_p <= 1)) {
    return absl::StrCat("p: must be in (0, 1] for the chosen arm, got ", slot.chosen_p);
  }
  if (!slot.p.empty()) {
    std::string problem = LawProblem("p", slot.p, slot.whole_law());
    if (!problem.empty()) return problem;
  }
  if (!slot.baseline) return "";
  if (slot.chosen_p != 1) {
    return absl::StrCat("p: must be 1 for a baseline, which is shown in any case, got ",
                        slot.chosen_p);
  }
  if (slot.own_law.empty()) return "";
  return LawProblem("baseline", slot.own_law, slot.own_law.size() == slot.offered);
}

std::string RewardProblem(const LoggedSlot& slot, const RewardRange& range) {
  if (slot.state != RewardState::kKnown) return "";
  const double slack =
      slot.released ? kReleasedError * (slot.released->high - slot.released->low) : 0;
  const double low = slot.released ? slot.released->low : range.min;
  const double high = slot.released ? slot.released->high : range.max;
  if (slot.reward >= low - slack && slot.reward <= high + slack) return "";
  return absl::StrCat("reward: must be in [", low, ", ", high, "]",
                      slot.released ? ", the ends of released" : "");
}

}  // namespace

std::optional<DecisionProblem> CheckDecision(const LoggedDecision& decision) {
  for (std::size_t at = 0; at < decision.slots.size(); ++at) {
    const LoggedSlot& slot = decision.slots[at];
    const std::string where = decision.slots.size() > 1 ? absl::StrCat("slot ", at, ": ") : "";
    if (std::string problem = PropensityProblem(slot); !problem.empty()) {
      return DecisionProblem{skip_reason::kPropensity, where + problem};
    }
    if (std::string problem = RewardProblem(slot, decision.range); !problem.empty()) {
      return DecisionProblem{skip_reason::kReward, where + problem};
    }
  }
  return std::nullopt;
}

}  // namespace bandana
