// When each context report came first: such reports carry no time of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "server/log/update_log.h"

namespace bandana::server {

// An id belongs to the time bucket in which it came first, whenever it comes again. Not
// thread-safe. Memory: about 30 bytes per id; forgotten ones go once they are the half.
class ReportIds {
 public:
  // The bucket of an id that is not forgotten.
  std::optional<std::int64_t> BucketOf(const EntryId& id) const {
    const auto it = buckets_.find(id);
    if (it == buckets_.end() || it->second < forgotten_before_) return std::nullopt;
    return it->second;
  }
  void Insert(const EntryId& id, std::int64_t bucket) { buckets_[id] = bucket; }
  void Remove(const EntryId& id) { buckets_.erase(id); }
  // `live`: ids at or after the bucket.
  void ForgetBefore(std::int64_t bucket, std::uint64_t live) {
    forgotten_before_ = std::max(forgotten_before_, bucket);
    if (buckets_.size() < 2 * live + 1000) return;
    absl::erase_if(buckets_,
                   [this](const auto& entry) { return entry.second < forgotten_before_; });
  }

 private:
  absl::flat_hash_map<EntryId, std::int64_t> buckets_;
  std::int64_t forgotten_before_ = INT64_MIN;
};

}  // namespace bandana::server
