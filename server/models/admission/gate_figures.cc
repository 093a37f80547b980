#include "server/models/admission/gate_figures.h"

#include <algorithm>

namespace bandana::server {
namespace {

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

std::int64_t IdBucketOf(absl::Time time) {
  return FloorDivide(absl::ToUnixNanos(time), absl::ToInt64Nanoseconds(kIdBucket));
}

bool GateFigures::IsPooled(int node) const {
  const auto i = static_cast<std::size_t>(node);
  return i < options_.pooled.size() && options_.pooled[i];
}

std::optional<BudgetUse> GateFigures::budget() const {
  const std::uint64_t used = budget_used_.load(std::memory_order_relaxed);
  if (options_.events_per_user_max > 0) {
    const auto& pooled = options_.pooled;
    const bool all =
        !pooled.empty() && std::find(pooled.begin(), pooled.end(), false) == pooled.end();
    if (all) return std::nullopt;
    return BudgetUse{BudgetUse::Of::kUser, used, options_.events_per_user_max};
  }
  if (options_.debits->steps_max() == 0) return std::nullopt;
  return BudgetUse{BudgetUse::Of::kStream, used, options_.debits->steps_max()};
}

void GateFigures::ShowEventsOf(int node, std::uint64_t events, const EpochCounts& counts) {
  if (events > events_max_.load(std::memory_order_relaxed)) events_max_ = events;
  if (options_.events_per_user_max == 0) {
    ShowUsed(options_.debits->UsedBy(counts, node));
  } else if (!IsPooled(node)) {
    ShowUsed(counts.OfNode(node));
  }
}

void GateFigures::ShowEventsOfAll(const EpochCounts& counts) {
  if (options_.events_per_user_max == 0) ShowUsed(options_.debits->UsedByAll(counts));
}

void GateFigures::ShowUsed(std::uint64_t used) {
  if (used > budget_used_.load(std::memory_order_relaxed)) budget_used_ = used;
}

void GateFigures::ShowNewEpoch() {
  budget_used_ = 0;
  refusals_.Clear(RefusalReason::kBudget);
}

void GateFigures::Show(std::uint64_t epoch, const IdIndex& ids, std::size_t windows) {
  if (ids.size() < options_.ids_max) refusals_.Clear(RefusalReason::kIds);
  epoch_.store(epoch, std::memory_order_release);
  ids_.store(ids.size(), std::memory_order_relaxed);
  windows_.store(windows, std::memory_order_relaxed);
  oldest_bucket_.store(ids.empty() ? INT64_MAX : ids.oldest_bucket(), std::memory_order_relaxed);
}

absl::Time GateFigures::forget_due() const {
  const std::int64_t bucket = oldest_bucket_.load(std::memory_order_relaxed);
  if (bucket == INT64_MAX) return absl::InfiniteFuture();
  return absl::FromUnixNanos((bucket + 1) * absl::ToInt64Nanoseconds(kIdBucket)) +
         options_.remember;
}

}  // namespace bandana::server
