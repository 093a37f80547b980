// The ids that must not be applied twice, by time bucket.
#pragma once

#include <cstdint>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "server/log/update_log.h"

namespace bandana::server {

// One entry per id, about 30 bytes: what is known of it as a set of kinds (bits 0 to 7). Not
// thread-safe.
class IdIndex {
 public:
  // Whether a record of this kind with this id is known.
  bool Contains(const RememberedId& id) const {
    const auto bucket = buckets_.find(id.bucket);
    if (bucket == buckets_.end()) return false;
    const auto it = bucket->second.find(id.id);
    return it != bucket->second.end() && (it->second & Bit(id)) != 0;
  }

  // Requires kind < 8 and, for a bucket below forgotten_before(), that the caller refuses such ids
  // before.
  void Insert(const RememberedId& id) {
    std::uint8_t& kinds = buckets_[id.bucket][id.id];
    if (kinds == 0) ++size_;
    kinds |= Bit(id);
  }

  // Undoes an Insert.
  void Remove(const RememberedId& id) {
    const auto bucket = buckets_.find(id.bucket);
    if (bucket == buckets_.end()) return;
    const auto it = bucket->second.find(id.id);
    if (it == bucket->second.end()) return;
    it->second &= static_cast<std::uint8_t>(~Bit(id));
    if (it->second != 0) return;
    --size_;
    bucket->second.erase(it);
    if (bucket->second.empty()) buckets_.erase(bucket);
  }

  // Drops every smaller bucket.
  void ForgetBefore(std::int64_t bucket) {
    if (bucket <= forgotten_before_) return;
    forgotten_before_ = bucket;
    while (!buckets_.empty() && buckets_.begin()->first < bucket) {
      size_ -= buckets_.begin()->second.size();
      buckets_.erase(buckets_.begin());
    }
  }

  // Ids of smaller buckets cannot be told from new ones any more.
  std::int64_t forgotten_before() const { return forgotten_before_; }
  // Distinct ids.
  std::uint64_t size() const { return size_; }
  bool empty() const { return buckets_.empty(); }
  // Requires !empty().
  std::int64_t oldest_bucket() const { return buckets_.begin()->first; }

 private:
  static std::uint8_t Bit(const RememberedId& id) {
    return static_cast<std::uint8_t>(1u << id.kind);
  }

  std::map<std::int64_t, absl::flat_hash_map<EntryId, std::uint8_t>> buckets_;
  std::int64_t forgotten_before_ = INT64_MIN;
  std::uint64_t size_ = 0;
};

}  // namespace bandana::server
