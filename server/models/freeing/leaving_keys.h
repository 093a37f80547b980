// Keys of arms and groups that nobody has any more, and since when: a part of the table that
// says who has them, kept until their effects are freed.
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
#include "common/ranking/effect_key.h"
#include "server/log/state/row_table.h"

namespace bandana::server {

// All left keys of one table into another, which has none. Errors: as RowTable::Change.
absl::Status CopyLeftKeys(RowTable& from, RowTable& to);

// Threads: safe, but for Load and Update, whose caller has the mutex. All but due() may wait for
// the disk.
class LeavingKeys {
 public:
  // Effects are kept for `free_after`. `mutex` is for the table, as for all who use it.
  LeavingKeys(absl::Duration free_after, std::mutex& mutex, RowTable& table)
      : free_after_(free_after), mutex_(mutex), table_(table) {}

  // Reads the table. Keys that are in use, because a version that has no such table put them back,
  // are taken off. Errors: as RowTable::LeftKeys and RemoveLeft.
  absl::Status Load(const std::function<bool(EffectKey)>& in_use);
  // After a change with keys.
  absl::Status Update();

  // When the first key is to be freed; in the year 2262 when there is none.
  absl::Time due() const { return absl::FromUnixNanos(due_.load(std::memory_order_relaxed)); }
  bool any() const { return due_.load(std::memory_order_relaxed) != INT64_MAX; }
  // Keys whose time has come, at most `max`. Errors: as RowTable.
  absl::StatusOr<std::vector<EffectKey>> DueAt(absl::Time now, std::size_t max);
  // They are freed, durably: taken off, but for those that have left anew. Errors: as RowTable.
  absl::Status Freed(std::span<const EffectKey> keys, absl::Time now);

 private:
  const absl::Duration free_after_;
  std::mutex& mutex_;
  RowTable& table_;
  std::atomic<std::int64_t> due_{INT64_MAX};  // Unix nanoseconds
};

}  // namespace bandana::server
