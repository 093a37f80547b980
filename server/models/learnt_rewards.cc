#include "server/models/learnt_rewards.h"

#include <algorithm>
#include <cmath>

#include "common/design/family.h"
#include "common/design/judgeable.h"
#include "common/model/entries/records.h"
#include "common/model/paths/entry_events.h"
#include "common/promise/mode.h"

namespace bandana::server {
namespace {

constexpr double kNormal95 = 1.959963984540054;  // two sides

}  // namespace

std::unique_ptr<LearntRewards> LearntRewards::Of(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  const Family& family = FamilyOf(spec);
  // There an event's reward is a difference or a share (Family::EventReward).
  if (family.choice() == Family::Choice::kPoint || family.centres_shares(spec)) return nullptr;
  if (!WhyNoRewards(p).empty()) return nullptr;
  return std::make_unique<LearntRewards>(p.reward_range, p.dimension, IsPrivateMode(p.mode));
}

LearntRewards::LearntRewards(const RewardRange& range, int dimension, bool noisy)
    : dimension_(dimension), sums_{.min = range.min, .noisy = noisy} {}

void LearntRewards::Applied(const LogEntry& entry) {
  const absl::StatusOr<Record> record = Decode(entry.record, dimension_);
  if (!record.ok()) return;  // the state machine says so
  ForEachPart(*record, [&](const EntryPart& part) {
    if (!part.event) return;
    const std::lock_guard lock(mutex_);
    const double above = part.reward - sums_.min;
    ++sums_.count;
    sums_.above_min += above;
    sums_.squares += above * above;
  });
}

RewardSums LearntRewards::sums() const {
  const std::lock_guard lock(mutex_);
  return sums_;
}

void FillRewards(const RewardSums& sums, v1::RewardStats& out) {
  const double n = static_cast<double>(sums.count);
  const double above = sums.above_min / n;
  out.set_rewards(sums.count);
  out.set_mean(sums.min + above);
  if (!sums.noisy || sums.count < 2) return;
  const double variance = std::max(0.0, sums.squares / n - above * above) * n / (n - 1);
  const double width = kNormal95 * std::sqrt(variance / n);
  out.set_low(sums.min + above - width);
  out.set_high(sums.min + above + width);
}

void ChoiceCounts::Decided(std::optional<bool> explored) {
  if (!counts_) return;
  decisions_.fetch_add(1, std::memory_order_relaxed);
  if (!explored) return;
  ranked_.fetch_add(1, std::memory_order_release);
  if (*explored) explored_.fetch_add(1, std::memory_order_release);
}

// Read in the reverse order of Decided, so that no part is above its whole.
std::optional<v1::ChoiceStats> ChoiceCounts::Stats() const {
  if (!counts_) return std::nullopt;
  v1::ChoiceStats stats;
  stats.set_explored(explored_.load(std::memory_order_acquire));
  stats.set_ranked(ranked_.load(std::memory_order_acquire));
  stats.set_decisions(decisions_.load(std::memory_order_acquire));
  return stats;
}

}  // namespace bandana::server
