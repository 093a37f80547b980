#include "server/models/admission/open_counts.h"

#include "common/design/event_rule.h"
#include "common/design/mode.h"
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

void OpenCounts::Reward(double reward) {
  if (!rewards_) return;
  const std::lock_guard lock(mutex_);
  ++rewards_->count;
  rewards_->sum += reward;
}

std::optional<RewardTotals> OpenCounts::rewards() const {
  const std::lock_guard lock(mutex_);
  return rewards_;
}

Notice OpenCounts::notice() const { return hides_reports_ ? Notice::kHushed : Notice::kOpen; }

}  // namespace bandana::server
