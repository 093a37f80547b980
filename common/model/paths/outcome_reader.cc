#include "common/model/paths/outcome_reader.h"

#include <algorithm>
#include <cmath>

#include "common/design/wire_messages.h"
#include "common/promise/mechanism.h"

namespace bandana {
namespace {

using ReadOr = std::variant<ReadReward, v1::RejectReason>;

// Rewards as the devices saw them.
class RawRewards final : public OutcomeReader {
 public:
  explicit RawRewards(const ModelSpec& spec)
      : range_(spec.public_spec.reward_range),
        otherwise_(Default(spec.public_spec)),
        rejects_(spec.reject_rewards),
        tells_clipping_(!ModeOf(spec.public_spec.mode).is_private) {}

  ReadOr Read(const ReportedReward& report) const override {
    if (!report.reward || std::isnan(*report.reward)) {
      if (!otherwise_) return v1::REWARD_MISSING;
      return ReadReward{.event = {.reward = *otherwise_}};
    }
    const double reward = std::clamp(*report.reward, range_.min, range_.max);
    const bool clipped = reward != *report.reward;
    if (clipped && rejects_) return v1::REWARD_OUT_OF_RANGE;
    return ReadReward{.event = {.reward = reward}, .clipped = clipped && tells_clipping_};
  }

 private:
  // The reward that a missing one counts as.
  static std::optional<double> Default(const PublicSpec& p) {
    const bool given = p.reward_window.has_value() || ModeOf(p.mode).is_private;
    return given ? std::optional(p.default_reward()) : std::nullopt;
  }

  const RewardRange range_;
  const std::optional<double> otherwise_;
  const bool rejects_;
  // How often a private reward had to be clipped tells about rewards.
  const bool tells_clipping_;
};

// Outputs that the devices drew.
class DrawnRewards final : public OutcomeReader {
 public:
  explicit DrawnRewards(const ModelSpec& spec)
      : rewards_(*spec.public_spec.made->rewards()),
        reward_stddev_(spec.reward_stddev),
        family_(FamilyOf(spec)) {}

  ReadOr Read(const ReportedReward& report) const override {
    if (!report.output) return v1::REWARD_MISSING;
    const auto read = rewards_.Read(
        {.output = *report.output, .whole_range = report.whole_range, .window = report.window},
        reward_stddev_);
    if (const auto* reason = std::get_if<RejectReason>(&read)) return ToProto(*reason);
    const auto& event = std::get<RewardEvent>(read);
    return ReadReward{.event = family_.Weigh(event), .place = event.place};
  }

 private:
  const RewardReports& rewards_;
  const double reward_stddev_;
  const Family& family_;
};

}  // namespace

std::unique_ptr<const OutcomeReader> MakeOutcomeReader(const ModelSpec& spec) {
  if (spec.public_spec.made->reports() == ReportForm::kOutputs) {
    return std::make_unique<DrawnRewards>(spec);
  }
  return std::make_unique<RawRewards>(spec);
}

void WriteOutcome(const ModelSpec& spec, const Family::Weighed& event, double probability,
                  OutcomeRecord& record, std::vector<double>& scaled) {
  record.reward = FamilyOf(spec).EventReward(spec, event.reward, probability);
  record.variance = event.variance;
  if (event.scale == 1) return;
  scaled = record.event.features.Values();
  for (double& value : scaled) value *= event.scale;
  record.event.features = scaled;
}

}  // namespace bandana
