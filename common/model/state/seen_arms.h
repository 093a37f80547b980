// The arms that each user was shown, or was rewarded for, as far as a model keeps them. A function
// of the log's entries and of the bounds: every server that reads the log has the same.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/design/seen_bounds.h"
#include "common/ranking/effect_key.h"

namespace bandana {

enum class SeenKind : std::uint8_t { kShown = 0, kRewarded = 1 };

// Beyond the bounds the oldest arms of a user go, and the users who were longest without one. An
// arm that comes again counts from then on. Times are cut to seconds. Memory: 8 bytes per arm, and
// some 100 per user. Threads: safe.
class SeenArms {
 public:
  explicit SeenArms(const SeenBounds& bounds) : bounds_(bounds) {}

  // `time`: of the entry. Times that go back count as the newest one before.
  void Add(SeenKind kind, EffectKey user, std::uint32_t arm, absl::Time time);
  // Forgets what it has of these users; other keys do nothing.
  void Forget(std::span<const EffectKey> keys);

  struct Seen {
    std::uint32_t arm = 0;
    absl::Time time;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  // Those of the user since `from`, oldest first.
  std::vector<Seen> Of(SeenKind kind, EffectKey user, absl::Time from) const;
  std::uint64_t users() const;

  // Newest time u32; number of users u64, and of each, the longest without an arm first: key u64,
  // and per kind the number of arms u32 and for each its id u32 and the time in seconds since 1970
  // u32, oldest first. Decode takes what another server's bounds kept down to these. False: the
  // bytes are not that.
  void Encode(ByteWriter& out) const;
  bool Decode(ByteReader& in);

 private:
  struct Entry {
    std::uint32_t arm = 0;
    std::uint32_t second = 0;
  };
  struct User {
    EffectKey key = kAbsent;
    std::uint32_t newest = 0;
    std::vector<Entry> arms[2];  // by kind, oldest first
  };
  void Put(SeenKind kind, EffectKey user, Entry entry);
  void DropUsers();

  const SeenBounds bounds_;
  mutable std::mutex mutex_;
  std::uint32_t newest_ = 0;
  std::list<User> order_;  // the user who was longest without an arm first
  absl::flat_hash_map<EffectKey, std::list<User>::iterator> users_;
};

}  // namespace bandana
