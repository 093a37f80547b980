// Reports of one decision each: a reward, or the output that a device drew for it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/design/event_rule.h"
#include "common/design/family.h"
#include "common/design/mechanism.h"
#include "common/model/entries/records.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/reported_event.h"

namespace bandana::server {
namespace {

// What a report says of its event.
struct Reading {
  Family::Weighed event;
  bool clipped = false;         // moved into the range, and may be told
  std::optional<double> place;  // RewardEvent::place
};
using ReadingOr = std::variant<Reading, v1::RejectReason>;

// How a model reads its reports. Threads: safe.
class RewardReader {
 public:
  virtual ~RewardReader() = default;
  virtual ReadingOr Read(const ReportedOutcome& outcome) const = 0;
};

// Rewards as the devices saw them.
class RawRewards final : public RewardReader {
 public:
  explicit RawRewards(const ModelSpec& spec)
      : range_(spec.public_spec.reward_range),
        otherwise_(Default(spec.public_spec)),
        rejects_(spec.reject_rewards),
        tells_clipping_(!ModeOf(spec.public_spec.mode).is_private) {}

  ReadingOr Read(const ReportedOutcome& outcome) const override {
    if (!outcome.reward || std::isnan(*outcome.reward)) {
      if (!otherwise_) return v1::REWARD_MISSING;
      return Reading{.event = {.reward = *otherwise_}};
    }
    const double reward = std::clamp(*outcome.reward, range_.min, range_.max);
    const bool clipped = reward != *outcome.reward;
    if (clipped && rejects_) return v1::REWARD_OUT_OF_RANGE;
    return Reading{.event = {.reward = reward}, .clipped = clipped && tells_clipping_};
  }

 private:
  // What a missing reward is.
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
class DrawnRewards final : public RewardReader {
 public:
  DrawnRewards(const ModelSpec& spec, const RewardReports& rewards)
      : rewards_(rewards), reward_stddev_(spec.reward_stddev), family_(FamilyOf(spec)) {}

  ReadingOr Read(const ReportedOutcome& outcome) const override {
    if (!outcome.output) return v1::REWARD_MISSING;
    const RewardReport report{.output = *outcome.output,
                              .whole_range = outcome.whole_range,
                              .window = outcome.decision.arms[outcome.shown].window};
    const auto read = rewards_.Read(report, reward_stddev_);
    if (const auto* reason = std::get_if<v1::RejectReason>(&read)) return *reason;
    const auto& event = std::get<RewardEvent>(read);
    return Reading{.event = family_.Weigh(event), .place = event.place};
  }

 private:
  const RewardReports& rewards_;
  const double reward_stddev_;
  const Family& family_;
};

class OutcomeCheck : public ReportCheck<ReportedOutcome> {
 public:
  OutcomeCheck(const ModelSpec& spec, std::unique_ptr<const RewardReader> reader)
      : spec_(spec), family_(FamilyOf(spec)), reader_(std::move(reader)) {}

  std::variant<CheckedReport, v1::RejectReason> Check(const ReportedOutcome& outcome,
                                                      absl::Time now) const final {
    const Decision& decision = outcome.decision;
    if (!MayShow(spec_, decision, outcome.shown)) return v1::SHOWN_OUT_OF_RANGE;
    if (!FitsModel(spec_, decision)) return v1::TOKEN_INVALID;
    const SealedArm& first = decision.arms[0];
    if (!family_.FitsToken(decision.arms.size(), first.propensity, first.features)) {
      return v1::TOKEN_INVALID;
    }
    const ReadingOr read = reader_->Read(outcome);
    if (const auto* reason = std::get_if<v1::RejectReason>(&read)) return *reason;
    const Reading& reading = std::get<Reading>(read);
    const Family::Weighed& weighed = reading.event;
    OutcomeRecord record{.event = EventOf(decision, outcome.shown), .received = now};
    record.deadline = record.event.time + spec_.public_spec.token_lifetime;
    record.reward = family_.EventReward(spec_, weighed.reward, first.propensity);
    record.variance = weighed.variance;
    std::vector<double> scaled;
    if (weighed.scale != 1) {
      scaled = record.event.features.Values();
      for (double& value : scaled) value *= weighed.scale;
      record.event.features = scaled;
    }
    return CheckedReport{.request = Request(record, decision, outcome.shown != decision.shown),
                         .counted = {.reward_clipped = reading.clipped,
                                     .reward = weighed.reward,
                                     .place = reading.place,
                                     .agreed = first.agreed,
                                     .decided = decision.time}};
  }

 protected:
  // The record that asks. `other_arm`: another one was shown than Select named.
  virtual std::string Request(const OutcomeRecord& record, const Decision& decision,
                              bool other_arm) const = 0;

  const ModelSpec& spec() const { return spec_; }
  const Family& family() const { return family_; }

 private:
  const ModelSpec& spec_;
  const Family& family_;
  const std::unique_ptr<const RewardReader> reader_;
};

// Each report is an event.
class EventCheck final : public OutcomeCheck {
  using OutcomeCheck::OutcomeCheck;
  std::string Request(const OutcomeRecord& record, const Decision&, bool) const override {
    return Encode(record);
  }
};

// Reports go into the cells of the decisions whose windows the server closes.
class CellCheck final : public OutcomeCheck {
 public:
  using OutcomeCheck::OutcomeCheck;
  std::optional<std::string> OpeningOf(const Decision& decision, absl::Time shown) const override {
    const RewardWindowSpec& window = *spec().public_spec.reward_window;
    const double reward =
        family().EventReward(spec(), window.default_reward, decision.arms[0].propensity);
    return Encode(DecisionRecord{.event = EventOf(decision, decision.shown),
                                 .close = shown + window.duration + window.grace,
                                 .default_reward = reward});
  }

 private:
  std::string Request(const OutcomeRecord& record, const Decision& decision,
                      bool other_arm) const override {
    ReportRecord report{.id = record.event.id,
                        .epoch = record.event.epoch,
                        .received = record.received,
                        .reward = record.reward};
    if (decision.deferred) {
      report.decided = record.event.time;
      report.activated_by = record.event.time + EventRuleOf(spec().public_spec).activated_within;
    }
    if (other_arm) {
      report.features = record.event.features;
      report.keys = record.event.keys;
    }
    return Encode(report);
  }
};

CheckOf<ReportedOutcome> MakeOutcomeCheck(const ModelSpec& spec,
                                          std::unique_ptr<const RewardReader> reader) {
  if (ClosesWindows(spec.public_spec)) {
    return std::make_unique<CellCheck>(spec, std::move(reader));
  }
  return std::make_unique<EventCheck>(spec, std::move(reader));
}

}  // namespace

CheckOf<ReportedOutcome> MakeRewardCheck(const ModelSpec& spec) {
  return MakeOutcomeCheck(spec, std::make_unique<RawRewards>(spec));
}

CheckOf<ReportedOutcome> MakeOutputCheck(const ModelSpec& spec) {
  const RewardReports& rewards = *spec.public_spec.made->rewards();
  return MakeOutcomeCheck(spec, std::make_unique<DrawnRewards>(spec, rewards));
}

}  // namespace bandana::server
