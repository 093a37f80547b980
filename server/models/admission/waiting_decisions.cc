#include "server/models/admission/waiting_decisions.h"

#include <algorithm>

#include "server/log/dense_id.h"
#include "server/models/admission/report_gate.h"

namespace bandana::server {
namespace {

constexpr int kSlices = 256;  // of a token's life

}  // namespace

WaitingDecisions::WaitingDecisions(std::uint64_t issuer, absl::Duration token_lifetime)
    : issuer_(issuer), life_(token_lifetime) {}

// Slices begin where id buckets do, so that a report finds the slice of its decision.
std::int64_t WaitingDecisions::SliceOf(absl::Time time) const {
  const std::int64_t buckets = std::max<std::int64_t>(1, life_ / kSlices / kIdBucket);
  return IdBucketOf(time) / buckets;
}

void WaitingDecisions::Answered(absl::Time now) {
  const std::lock_guard lock(mutex_);
  ++slices_[SliceOf(now)];
}

void WaitingDecisions::Reported(const RememberedId& id) {
  const auto dense = DenseId::Of(id);
  if (!dense || dense->issuer != issuer_) return;
  const std::lock_guard lock(mutex_);
  const auto slice = slices_.find(SliceOf(absl::UnixEpoch() + id.bucket * kIdBucket));
  if (slice != slices_.end()) --slice->second;
}

std::uint64_t WaitingDecisions::Count(absl::Time now) {
  const std::lock_guard lock(mutex_);
  slices_.erase(slices_.begin(), slices_.lower_bound(SliceOf(now - life_)));
  std::int64_t count = 0;
  for (const auto& [slice, waiting] : slices_) count += std::max<std::int64_t>(0, waiting);
  return static_cast<std::uint64_t>(count);
}

}  // namespace bandana::server
