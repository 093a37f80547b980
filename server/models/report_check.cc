#include "server/models/report_check.h"

#include <algorithm>
#include <cmath>

#include "common/base/limits.h"
#include "server/models/identity.h"

namespace bandana::server {
namespace {

// A token carries its time in microseconds; the entry that Select appended must agree with it.
absl::Time TokenTime(const Decision& decision) {
  return absl::FromUnixMicros(absl::ToUnixMicros(decision.time));
}

EventRecord EventOf(const Decision& decision, std::uint32_t shown) {
  return {.id = decision.id,
          .epoch = decision.epoch,
          .time = TokenTime(decision),
          .node = decision.user.empty() ? decision.node : -1,
          .user = decision.user,
          .features = decision.arms[shown].features};
}

// A token that this server sealed always fits; one that does not is treated like a damaged one.
bool FitsModel(const ModelSpec& spec, const Decision& decision) {
  const auto d = static_cast<std::size_t>(spec.public_spec.dimension);
  const auto right_size = [&](const RankedArm& arm) { return arm.features.size() == d; };
  if (!std::all_of(decision.arms.begin(), decision.arms.end(), right_size)) return false;
  if (spec.coupling.independent()) {
    return !decision.user.empty() && decision.user.size() <= kUserIdBytesMax;
  }
  return decision.user.empty() && decision.node >= 0 && decision.node < spec.coupling.nodes();
}

// The reward that the event gets; REJECT_REASON_UNSPECIFIED when there is one.
v1::RejectReason CheckReward(const ModelSpec& spec, const std::optional<double>& reported,
                             double& reward, bool& clipped) {
  const PublicSpec& p = spec.public_spec;
  const bool has_default = p.reward_window.has_value() || p.mode != v1::NON_PRIVATE;
  if (!reported || std::isnan(*reported)) {
    if (!has_default) return v1::REWARD_MISSING;
    reward = p.default_reward();
    return v1::REJECT_REASON_UNSPECIFIED;
  }
  reward = std::clamp(*reported, p.reward_range.min, p.reward_range.max);
  clipped = reward != *reported;
  return clipped && spec.reject_rewards ? v1::REWARD_OUT_OF_RANGE : v1::REJECT_REASON_UNSPECIFIED;
}

}  // namespace

DecisionRecord DecisionRecordOf(const PublicSpec& spec, const Decision& decision) {
  return {.event = EventOf(decision, 0),
          .close = TokenTime(decision) + spec.reward_window->duration,
          .default_reward = spec.reward_window->default_reward};
}

std::variant<CheckedOutcome, v1::RejectReason> CheckOutcome(const ModelSpec& spec,
                                                            const RewardRandomizer* randomizer,
                                                            const ReportedOutcome& outcome,
                                                            absl::Time now) {
  const PublicSpec& p = spec.public_spec;
  const Decision& decision = outcome.decision;
  if (outcome.shown >= decision.arms.size()) return v1::SHOWN_OUT_OF_RANGE;
  if (!FitsModel(spec, decision)) return v1::TOKEN_INVALID;
  CheckedOutcome checked;
  checked.record.event = EventOf(decision, outcome.shown);
  checked.record.received = now;
  checked.record.deadline = checked.record.event.time + p.token_lifetime;
  if (randomizer != nullptr) {
    if (!outcome.output) return v1::REWARD_MISSING;
    if (*outcome.output >= randomizer->outputs()) return v1::OUTPUT_OUT_OF_RANGE;
    checked.record.reward = randomizer->Value(*outcome.output);
    return checked;
  }
  const v1::RejectReason reason =
      CheckReward(spec, outcome.reward, checked.record.reward, checked.reward_clipped);
  if (reason != v1::REJECT_REASON_UNSPECIFIED) return reason;
  if (ClosesWindows(p)) {
    const DecisionRecord lost = DecisionRecordOf(p, decision);
    checked.record.deadline = std::min(checked.record.deadline, lost.close);
    if (now < checked.record.deadline) checked.decision = lost;
  }
  return checked;
}

}  // namespace bandana::server
