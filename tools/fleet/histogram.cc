#include "tools/fleet/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/check.h"

namespace bandana {
namespace {

constexpr int kSubBucketBits = 7;
constexpr std::int64_t kSubBuckets = std::int64_t{1} << kSubBucketBits;
constexpr int kValueBits = 40;
constexpr std::int64_t kValueMax = (std::int64_t{1} << kValueBits) - 1;

// Values below 2 * kSubBuckets have a bucket each; then every power of two has kSubBuckets.
std::size_t BucketOf(std::int64_t value) {
  const int shift = std::max(
      0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - kSubBucketBits - 1);
  return static_cast<std::size_t>(shift * kSubBuckets + (value >> shift));
}

// The middle of the values that fall into the bucket.
std::int64_t MiddleOf(std::size_t bucket) {
  const auto position = static_cast<std::int64_t>(bucket);
  if (position < 2 * kSubBuckets) return position;
  const std::int64_t shift = position / kSubBuckets - 1;
  const std::int64_t low = (position - shift * kSubBuckets) << shift;
  return low + (std::int64_t{1} << shift) / 2;
}

}  // namespace

LatencyHistogram::LatencyHistogram() : buckets_(BucketOf(kValueMax) + 1) {}

void LatencyHistogram::Record(absl::Duration duration) {
  const std::int64_t value =
      std::clamp<std::int64_t>(absl::ToInt64Nanoseconds(duration), 0, kValueMax);
  ++buckets_[BucketOf(value)];
  ++count_;
  max_ = std::max(max_, value);
}

absl::Duration LatencyHistogram::Quantile(double q) const {
  BANDANA_CHECK(q >= 0 && q <= 1);
  if (count_ == 0) return absl::ZeroDuration();
  const auto rank = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_))));
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    below += buckets_[bucket];
    if (below >= rank) return absl::Nanoseconds(std::min(MiddleOf(bucket), max_));
  }
  return max();
}

}  // namespace bandana
