// Reports of one decision each: a reward, or the output that a device drew for it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/design/family.h"
#include "common/design/identity.h"
#include "common/design/privacy_rules.h"
#include "common/mechanisms/centred_window.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/reported_event.h"

namespace bandana::server {
namespace {

// What a report says of its event.
struct Reading {
  double reward = 0;
  double scale = 1;      // of the features
  bool clipped = false;  // moved into the range, and may be told
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
        tells_clipping_(!IsPrivateMode(spec.public_spec.mode)) {}

  ReadingOr Read(const ReportedOutcome& outcome) const override {
    if (!outcome.reward || std::isnan(*outcome.reward)) {
      if (!otherwise_) return v1::REWARD_MISSING;
      return Reading{.reward = *otherwise_};
    }
    const double reward = std::clamp(*outcome.reward, range_.min, range_.max);
    const bool clipped = reward != *outcome.reward;
    if (clipped && rejects_) return v1::REWARD_OUT_OF_RANGE;
    return Reading{.reward = reward, .clipped = clipped && tells_clipping_};
  }

 private:
  // What a missing reward is.
  static std::optional<double> Default(const PublicSpec& p) {
    const bool given = p.reward_window.has_value() || IsPrivateMode(p.mode);
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
  DrawnRewards(const ModelSpec& spec, const RewardRandomizer& randomizer)
      : spec_(spec), randomizer_(randomizer) {}

  ReadingOr Read(const ReportedOutcome& outcome) const override {
    const PublicSpec& p = spec_.public_spec;
    if (!outcome.output) return v1::REWARD_MISSING;
    if (*outcome.output >= randomizer_.outputs()) return v1::OUTPUT_OUT_OF_RANGE;
    const std::optional<RewardRange>& window = outcome.decision.arms[outcome.shown].window;
    const bool centred = p.mechanism == v1::CENTRED_RANDOMIZER;
    if (outcome.whole_range && !centred) return v1::OUTPUT_OUT_OF_RANGE;
    if (!centred || outcome.whole_range) {
      return Reading{.reward = randomizer_.Value(*outcome.output)};
    }
    if (!window || !IsWindowOf(p.reward_range, *window)) return v1::TOKEN_INVALID;
    // The event of the model's observation variance that says as much as this one.
    const double scale = EventScale(randomizer_, *window, spec_.reward_stddev);
    return Reading{.reward = scale * randomizer_.ValueIn(*window, *outcome.output), .scale = scale};
  }

 private:
  const ModelSpec& spec_;
  const RewardRandomizer& randomizer_;
};

std::unique_ptr<const RewardReader> MakeReader(const ModelSpec& spec, const RewardPath& path) {
  if (!IsLocalMode(spec.public_spec.mode)) return std::make_unique<RawRewards>(spec);
  return std::make_unique<DrawnRewards>(spec, *path.randomizer());
}

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
    OutcomeRecord record{.event = EventOf(decision, outcome.shown), .received = now};
    record.deadline = record.event.time + spec_.public_spec.token_lifetime;
    record.reward = family_.EventReward(spec_, reading.reward, first.propensity);
    std::vector<double> scaled;
    if (reading.scale != 1) {
      scaled.assign(record.event.features.begin(), record.event.features.end());
      for (double& value : scaled) value *= reading.scale;
      record.event.features = scaled;
    }
    return CheckedReport{.request = Request(record, outcome.shown != decision.shown),
                         .reward_clipped = reading.clipped,
                         .reward = reading.reward};
  }

 protected:
  // The record that asks. `other_arm`: another one was shown than Select named.
  virtual std::string Request(const OutcomeRecord& record, bool other_arm) const = 0;

 private:
  const ModelSpec& spec_;
  const Family& family_;
  const std::unique_ptr<const RewardReader> reader_;
};

// Each report is an event.
class EventCheck final : public OutcomeCheck {
  using OutcomeCheck::OutcomeCheck;
  std::string Request(const OutcomeRecord& record, bool) const override { return Encode(record); }
};

// Reports go into the cells of the decisions whose windows the server closes.
class CellCheck final : public OutcomeCheck {
  using OutcomeCheck::OutcomeCheck;
  std::string Request(const OutcomeRecord& record, bool other_arm) const override {
    ReportRecord report{.id = record.event.id,
                        .epoch = record.event.epoch,
                        .received = record.received,
                        .reward = record.reward};
    if (other_arm) report.features = record.event.features;
    return Encode(report);
  }
};

}  // namespace

CheckOf<ReportedOutcome> MakeOutcomeCheck(const ModelSpec& spec, const RewardPath& path) {
  std::unique_ptr<const RewardReader> reader = MakeReader(spec, path);
  if (path.windowed()) return std::make_unique<CellCheck>(spec, std::move(reader));
  return std::make_unique<EventCheck>(spec, std::move(reader));
}

DecisionRecord DecisionRecordOf(const ModelSpec& spec, const Decision& decision) {
  const RewardWindowSpec& window = *spec.public_spec.reward_window;
  return {.event = EventOf(decision, decision.shown),
          .close = TokenTime(decision) + window.duration + window.grace,
          .default_reward =
              FamilyOf(spec).EventReward(spec, window.default_reward, decision.arms[0].propensity)};
}

}  // namespace bandana::server
