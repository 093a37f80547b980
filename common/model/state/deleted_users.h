// Who was deleted, as far as it must be remembered: by a keyed hash of the id, never by the id.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/model/entries/records.h"
#include "common/ranking/effect_key.h"

namespace bandana {

// Decisions for a deleted user that were made before are refused, and where a promise counts the
// events of a user, so is every further event until the epoch ends. Memory: some 150 bytes per
// user. Not thread-safe; copies are independent.
class DeletedUsers {
 public:
  using Key = std::array<std::byte, 32>;
  struct Entry {
    int node = -1;             // DeletedUser
    absl::Time deleted;        // decisions up to it are refused
    absl::Time until;          // forgotten then; InfiniteFuture: as the epoch ends
    std::uint64_t events = 0;  // of the node in the epoch
  };

  // The first bytes of HMAC-SHA256(key, user's key). Zero when OpenSSL failed.
  static UserHash HashOf(const Key& key, EffectKey user);

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  // The key of all hashes that are there; zero while there are none.
  const Key& key() const { return key_; }
  // nullptr: not deleted, or forgotten since. Costs a hash where somebody is there.
  const Entry* Find(EffectKey user) const;
  bool HasNode(int node) const { return nodes_.contains(node); }
  const std::map<UserHash, Entry>& all() const { return entries_; }

  // The record's user; replaces an entry of the same hash, whose node stays where this one has
  // none. Errors: DATA_LOSS another key than that of the users who are there.
  absl::Status Add(const DeleteRecord& record, const DeletedUser& user, std::uint64_t events);
  // Forgets those whose time has come. Whether there was one.
  bool DropDue(absl::Time now);
  // The epoch ends.
  void Clear() { *this = DeletedUsers(); }
  // In a copy: tokens of the original are foreign to it.
  void KeepCounted();

  void Encode(ByteWriter& out) const;
  // Errors: DATA_LOSS.
  absl::Status Decode(ByteReader& in);

 private:
  template <typename Goes>
  bool DropIf(const Goes& goes);

  Key key_{};
  std::map<UserHash, Entry> entries_;
  absl::flat_hash_map<int, UserHash> nodes_;
};

// Whose event it is: the key of its user, or the first of its keys (models of effects); none where
// it names nobody.
std::optional<EffectKey> UserOf(std::string_view user, const PackedKeys& keys);

}  // namespace bandana
