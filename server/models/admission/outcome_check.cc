// Reports of one decision each: a reward, or the output that a device drew for it.
#include <optional>
#include <variant>
#include <vector>

#include "common/design/family.h"
#include "common/model/entries/records.h"
#include "common/model/paths/outcome_reader.h"
#include "common/promise/event_rule.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/reported_event.h"

namespace bandana::server {
namespace {

class OutcomeCheck : public ReportCheck<ReportedOutcome> {
 public:
  explicit OutcomeCheck(const ModelSpec& spec)
      : spec_(spec), family_(FamilyOf(spec)), reader_(MakeOutcomeReader(spec)) {}

  std::variant<CheckedReport, v1::RejectReason> Check(const ReportedOutcome& outcome,
                                                      absl::Time now) const final {
    const Decision& decision = outcome.decision;
    if (!MayShow(spec_, decision, outcome.shown)) return v1::SHOWN_OUT_OF_RANGE;
    if (!FitsModel(spec_, decision)) return v1::TOKEN_INVALID;
    const SealedArm& first = decision.arms[0];
    if (!family_.FitsToken(decision.arms.size(), first.propensity, first.features)) {
      return v1::TOKEN_INVALID;
    }
    const auto read = reader_->Read({.reward = outcome.reward,
                                     .output = outcome.output,
                                     .whole_range = outcome.whole_range,
                                     .window = ArmOfRank(decision, outcome.shown)->window});
    if (const auto* reason = std::get_if<v1::RejectReason>(&read)) return *reason;
    const auto& [event, clipped, place] = std::get<ReadReward>(read);
    OutcomeRecord record{.event = EventOf(decision, outcome.shown), .received = now};
    record.deadline = record.event.time + spec_.public_spec.token_lifetime;
    std::vector<double> scaled;
    WriteOutcome(spec_, event, first.propensity, record, scaled);
    return CheckedReport{.request = Request(record, decision, outcome.shown != decision.shown),
                         .counted = {.reward_clipped = clipped,
                                     .reward = event.reward,
                                     .place = place,
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
  const std::unique_ptr<const OutcomeReader> reader_;
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

}  // namespace

CheckOf<ReportedOutcome> MakeOutcomeCheck(const ModelSpec& spec) {
  if (ClosesWindows(spec.public_spec)) return std::make_unique<CellCheck>(spec);
  return std::make_unique<EventCheck>(spec);
}

}  // namespace bandana::server
