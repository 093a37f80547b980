// The ids that must not be applied twice, by time bucket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "server/log/dense_id.h"

namespace bandana::server {

// Dense ids take a bit and some of a chunk that they share: 1e9 of them, in a row, 147 MiB. Others
// take about 30 bytes: what is known of them as a set of kinds (bits 0 to 7). Not thread-safe.
class IdIndex {
 public:
  // Whether a record of this kind with this id is known. The bucket of a dense id does not matter.
  bool Contains(const RememberedId& id) const;
  // Requires kind < 8 and, for a bucket below forgotten_before(), that the caller refuses such ids
  // before.
  void Insert(const RememberedId& id);
  // Undoes an Insert.
  void Remove(const RememberedId& id);
  // A chunk as it was stored.
  void Insert(const IdChunk& chunk);
  // Drops every smaller bucket; a chunk goes with its newest one.
  void ForgetBefore(std::int64_t bucket);

  // Ids of smaller buckets cannot be told from new ones any more.
  std::int64_t forgotten_before() const { return forgotten_before_; }
  // Distinct ids; a dense one counts per kind.
  std::uint64_t size() const { return loose_ + dense_; }
  std::uint64_t loose() const { return loose_; }  // of these, those that are not dense
  bool empty() const { return buckets_.empty() && by_newest_.empty(); }
  // Requires !empty().
  std::int64_t oldest_bucket() const;
  std::int64_t newest_bucket() const;

  // Chunks in which ids were inserted or removed since the last Stored().
  void AddChanged(std::vector<IdChunk>& out) const;
  void Stored() { changed_.clear(); }

 private:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint8_t>;  // issuer, number, kind
  struct Bits {
    std::int64_t newest = 0;
    IdChunk::Words words{};
  };

  static Key KeyOf(const DenseId& id, std::uint8_t kind) {
    return {id.issuer, id.number / IdChunk::kIds, kind};
  }
  void SetNewest(const Key& key, Bits& bits, std::int64_t bucket, bool is_new);
  static std::uint8_t Bit(const RememberedId& id) {
    return static_cast<std::uint8_t>(1u << id.kind);
  }

  std::map<std::int64_t, absl::flat_hash_map<EntryId, std::uint8_t>> buckets_;
  absl::flat_hash_map<Key, std::unique_ptr<Bits>> chunks_;
  std::map<std::int64_t, absl::flat_hash_set<Key>> by_newest_;
  absl::flat_hash_set<Key> changed_;
  std::int64_t forgotten_before_ = INT64_MIN;
  std::uint64_t loose_ = 0;
  std::uint64_t dense_ = 0;
};

}  // namespace bandana::server
