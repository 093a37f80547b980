#include "server/models/admission/open_counts.h"

#include "common/promise/event_rule.h"
#include "common/promise/mode.h"
#include "server/models/admission/verdict.h"

namespace bandana::server {

OpenCounts::OpenCounts(const ModelSpec& spec, Counters& counters)
    : counters_(counters),
      hides_reports_(HidesReports(spec.public_spec)),
      hides_contexts_(HidesContexts(spec.public_spec.mode)) {
  if (!IsPrivateMode(spec.public_spec.mode)) rewards_.emplace();
}

void OpenCounts::Rejected(v1::OutcomeCode code, v1::RejectReason reason, std::uint64_t count) {
  if (!hides_reports_) counters_.Add(CounterOf(code, reason), count);
}

void OpenCounts::FeaturesClipped(std::uint64_t count) {
  if (!hides_contexts_) counters_.Add(Counters::kFeaturesClipped, count);
}

void OpenCounts::Taken(const CountedReport& report) {
  if (report.reward_clipped) counters_.Add(Counters::kRewardsClipped, 1);
  if (!rewards_ && !report.place) return;
  const std::lock_guard lock(mutex_);
  if (rewards_) {
    ++rewards_->count;
    rewards_->sum += report.reward;
  }
  if (!report.place) return;
  if (!places_) places_.emplace();
  const bool below = *report.place <= -1;
  const bool above = *report.place >= 1;
  ++(below ? places_->below : above ? places_->above : places_->inside);
}

std::optional<WindowPlaces> OpenCounts::places() const {
  const std::lock_guard lock(mutex_);
  return places_;
}

std::optional<RewardTotals> OpenCounts::rewards() const {
  const std::lock_guard lock(mutex_);
  return rewards_;
}

Notice OpenCounts::notice() const { return hides_reports_ ? Notice::kHidden : Notice::kOpen; }

}  // namespace bandana::server
