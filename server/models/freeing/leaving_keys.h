// Keys of arms and groups that nobody has any more, and since when: a table of the file that says
// who has them, kept until their effects are freed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/bandits/effects/effect_key.h"
#include "server/log/sqlite.h"

namespace bandana::server {

// What a change of arms or users does to their keys, and when.
struct KeyChange {
  std::vector<EffectKey> returned;  // somebody has them again
  std::vector<EffectKey> left;      // nobody has them any more
  absl::Time now;
};

// A key that nobody has since a time.
struct LeftKey {
  EffectKey key = kAbsent;
  absl::Time since;
};

// In a transaction of the caller's. A file has no table before its first key. Errors: as
// SqliteStatus.
absl::Status NoteKeys(SqliteConnection& connection, const KeyChange& change);
// All of the file, in the order of their times. Errors: DATA_LOSS damaged; as SqliteStatus.
absl::StatusOr<std::vector<LeftKey>> ReadLeftKeys(SqliteConnection& connection);
// All of one file into another, which has none. Errors: the same.
absl::Status CopyLeftKeys(SqliteConnection& from, SqliteConnection& to);

// Threads: safe, but for Load and Update, whose caller has the mutex. All but due() may wait for
// the disk.
class LeavingKeys {
 public:
  // Effects are kept for `free_after`. `mutex` is for the connection, as for all who use it.
  LeavingKeys(absl::Duration free_after, std::mutex& mutex, SqliteConnection& connection)
      : free_after_(free_after), mutex_(mutex), connection_(connection) {}

  // Reads the file. Keys that are in use, because a version that has no such table put them back,
  // are taken off. Errors: as ReadLeftKeys.
  absl::Status Load(const std::function<bool(EffectKey)>& in_use);
  // After a transaction with NoteKeys.
  absl::Status Update();

  // When the first key is to be freed; in the year 2262 when there is none.
  absl::Time due() const { return absl::FromUnixNanos(due_.load(std::memory_order_relaxed)); }
  bool any() const { return due_.load(std::memory_order_relaxed) != INT64_MAX; }
  // Keys whose time has come, at most `max`. Errors: as SqliteStatus.
  absl::StatusOr<std::vector<EffectKey>> DueAt(absl::Time now, std::size_t max);
  // They are freed, durably: taken off, but for those that have left anew. Errors: as SqliteStatus.
  absl::Status Freed(std::span<const EffectKey> keys, absl::Time now);

 private:
  absl::Status RemoveUntil(std::span<const EffectKey> keys, absl::Time last);

  const absl::Duration free_after_;
  std::mutex& mutex_;
  SqliteConnection& connection_;
  std::atomic<std::int64_t> due_{INT64_MAX};  // Unix nanoseconds
};

}  // namespace bandana::server
