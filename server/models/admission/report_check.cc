#include "server/models/admission/report_check.h"

#include <algorithm>
#include <cmath>

#include "common/base/limits.h"
#include "common/design/identity.h"
#include "common/design/privacy_rules.h"
#include "common/mechanisms/centred_window.h"
#include "common/model/learners/arms_sink.h"
#include "common/model/learners/points_sink.h"

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
  const auto right_size = [&](const SealedArm& arm) { return arm.features.size() == d; };
  if (!std::all_of(decision.arms.begin(), decision.arms.end(), right_size)) return false;
  if (spec.coupling.independent()) {
    return !decision.user.empty() && decision.user.size() <= kUserIdBytesMax;
  }
  return decision.user.empty() && decision.node >= 0 && decision.node < spec.coupling.nodes();
}

// Whether a report may be of the arm of this rank. Private models with a window: of the one that
// Select named alone; another one would tell of the reaction.
bool MayShow(const ModelSpec& spec, const Decision& decision, std::uint32_t shown) {
  if (shown >= decision.arms.size()) return false;
  const PublicSpec& p = spec.public_spec;
  return shown == decision.shown || !p.reward_window || !IsPrivateMode(p.mode);
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

// Whether a device that follows the protocol can have released it: the sum of the increments that
// are covered and 64 deviations of its noise.
bool MomentFits(const CounterDesign& design, std::uint64_t step, std::span<const double> moment) {
  const double increment =
      std::ldexp(static_cast<double>(design.grid().norm_bound), design.grid().exponent);
  const double bound = increment * static_cast<double>(design.Covered(step)) +
                       64 * std::sqrt(design.PredictedVariance(step));
  return std::all_of(moment.begin(), moment.end(),
                     [&](double value) { return std::abs(value) <= bound; });
}

}  // namespace

std::variant<CounterRecord, v1::RejectReason> CheckCounterReport(const ModelSpec& spec,
                                                                 const CounterDesign& design,
                                                                 const ReportedCounter& report,
                                                                 absl::Time now) {
  if (report.step > design.step_cap()) return v1::STREAM_EXHAUSTED;
  if (!MomentFits(design, report.step, report.moment)) return v1::OUTPUT_OUT_OF_RANGE;
  CounterRecord record{.stream = report.stream, .received = now};
  record.step = report.step;
  record.moment = report.moment;
  for (std::size_t i = 0; i < report.decisions.size(); ++i) {
    CounterStep& step = record.steps.emplace_back();
    if (!report.decisions[i]) continue;
    const Decision& decision = *report.decisions[i];
    if (!MayShow(spec, decision, report.shown[i])) return v1::SHOWN_OUT_OF_RANGE;
    if (!FitsModel(spec, decision)) return v1::TOKEN_INVALID;
    const EventRecord event = EventOf(decision, report.shown[i]);
    const bool first = record.epoch == 0;
    if (!first && event.epoch != record.epoch) return v1::TOKEN_FOREIGN;
    if (!first && (event.node != record.node || event.user != record.user)) {
      return v1::TOKEN_INVALID;
    }
    record.epoch = event.epoch;
    record.node = event.node;
    record.user = event.user;
    step = {.readable = true, .id = event.id, .time = event.time, .features = event.features};
  }
  if (record.steps.back().readable) record.last = record.steps.back().id;
  return record;
}

namespace {

// The event of the model's observation variance that says as much as this one.
void Weigh(const RewardRandomizer& randomizer, const RewardRange& window, double reward_stddev,
           std::uint32_t output, CheckedOutcome& checked) {
  const double scale = EventScale(randomizer, window, reward_stddev);
  checked.record.reward = scale * randomizer.ValueIn(window, output);
  const std::span<const double> x = checked.record.event.features;
  checked.weighed.assign(x.begin(), x.end());
  for (double& value : checked.weighed) value *= scale;
  checked.record.event.features = checked.weighed;
}

}  // namespace

std::variant<ContextRecord, v1::RejectReason> CheckContextReport(const ContextMechanism& mechanism,
                                                                 const ReportedContext& report,
                                                                 absl::Time now) {
  const bool fits = mechanism.privunit() != nullptr || mechanism.Fits(report.values);
  if (!fits) return v1::OUTPUT_OUT_OF_RANGE;
  return ContextRecord{.id = report.id,
                       .epoch = report.epoch,
                       .received = now,
                       .seed = report.seed,
                       .values = report.values};
}

OutcomeResult ResultOf(Admission admission) {
  switch (admission) {
    case Admission::kAppend:
      return {v1::APPLIED, v1::REJECT_REASON_UNSPECIFIED};
    case Admission::kDuplicate:
      return {v1::DUPLICATE, v1::REJECT_REASON_UNSPECIFIED};
    case Admission::kExpired:
      return {v1::EXPIRED, v1::REJECT_REASON_UNSPECIFIED};
    case Admission::kForeign:
      return {v1::REJECTED, v1::TOKEN_FOREIGN};
    case Admission::kUserLimit:
      return {v1::REJECTED, v1::USER_LIMIT};
    case Admission::kInvalid:
      return {v1::REJECTED, v1::TOKEN_INVALID};
    case Admission::kGap:
      return {v1::REJECTED, v1::STREAM_GAP};
    case Admission::kForked:
      return {v1::REJECTED, v1::STREAM_FORKED};
    case Admission::kExhausted:
      return {v1::REJECTED, v1::STREAM_EXHAUSTED};
    case Admission::kNoRoom:
    case Admission::kUnsealed:
      break;  // answered for the whole call
  }
  return {};
}

namespace {

// Models of arms and of points: one arm a token, drawn with the probability that the token says, or
// one play's factor.
bool FitsFamily(const ModelSpec& spec, const Decision& decision) {
  if (!spec.arms && !spec.points) return true;
  if (decision.arms.size() != 1 || !(decision.arms[0].propensity >= kArmProbabilityMin))
    return false;
  const std::vector<double>& features = decision.arms[0].features;
  return spec.arms ? ArmOf(features) >= 0 : IsPlayFactor(features);
}

// The reward as the event has it.
double LoggedReward(const ModelSpec& spec, const Decision& decision, double reward) {
  if (spec.arms) return ArmReward(spec, reward, decision.arms[0].propensity);
  return spec.points ? PointReward(spec, reward) : reward;
}

}  // namespace

DecisionRecord DecisionRecordOf(const ModelSpec& spec, const Decision& decision) {
  const RewardWindowSpec& window = *spec.public_spec.reward_window;
  return {.event = EventOf(decision, decision.shown),
          .close = TokenTime(decision) + window.duration + window.grace,
          .default_reward = LoggedReward(spec, decision, window.default_reward)};
}

std::variant<CheckedOutcome, v1::RejectReason> CheckOutcome(const ModelSpec& spec,
                                                            const RewardRandomizer* randomizer,
                                                            const ReportedOutcome& outcome,
                                                            absl::Time now) {
  const PublicSpec& p = spec.public_spec;
  const Decision& decision = outcome.decision;
  if (!MayShow(spec, decision, outcome.shown)) return v1::SHOWN_OUT_OF_RANGE;
  if (!FitsModel(spec, decision)) return v1::TOKEN_INVALID;
  if (!FitsFamily(spec, decision)) return v1::TOKEN_INVALID;
  CheckedOutcome checked;
  checked.record.event = EventOf(decision, outcome.shown);
  checked.record.received = now;
  checked.record.deadline = checked.record.event.time + p.token_lifetime;
  if (randomizer != nullptr && p.mode == v1::LOCAL_REWARD) {
    if (!outcome.output) return v1::REWARD_MISSING;
    if (*outcome.output >= randomizer->outputs()) return v1::OUTPUT_OUT_OF_RANGE;
    const std::optional<RewardRange>& window = decision.arms[outcome.shown].window;
    const bool centred = p.mechanism == v1::CENTRED_RANDOMIZER;
    if (outcome.whole_range && !centred) return v1::OUTPUT_OUT_OF_RANGE;
    if (!centred || outcome.whole_range) {
      checked.record.reward = LoggedReward(spec, decision, randomizer->Value(*outcome.output));
      return checked;
    }
    if (!window || !IsWindowOf(p.reward_range, *window)) return v1::TOKEN_INVALID;
    Weigh(*randomizer, *window, spec.reward_stddev, *outcome.output, checked);
    return checked;
  }
  const v1::RejectReason reason =
      CheckReward(spec, outcome.reward, checked.record.reward, checked.reward_clipped);
  if (reason != v1::REJECT_REASON_UNSPECIFIED) return reason;
  checked.reward = checked.record.reward;
  checked.record.reward = LoggedReward(spec, decision, checked.reward);
  // How often a private reward had to be clipped tells about rewards.
  if (p.mode != v1::NON_PRIVATE) checked.reward_clipped = false;
  checked.other_arm = ClosesWindows(p) && outcome.shown != decision.shown;
  return checked;
}

std::string RequestOf(const ModelSpec& spec, const CheckedOutcome& checked) {
  if (!ClosesWindows(spec.public_spec)) return Encode(checked.record);
  const EventRecord& event = checked.record.event;
  ReportRecord report{.id = event.id,
                      .epoch = event.epoch,
                      .received = checked.record.received,
                      .reward = checked.record.reward};
  if (checked.other_arm) report.features = event.features;
  return Encode(report);
}

}  // namespace bandana::server
