// The content of a model's log, whatever engine stores it: numbered entries under a running hash,
// ids that are remembered, and cells that are written again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/sha256.h"

namespace bandana {

// A place between two entries: `sequence` is the last entry before it (0: none), `hash` the running
// hash up to it.
struct LogPosition {
  std::uint64_t sequence = 0;
  Sha256Digest hash{};
  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

struct LogEntry {
  LogPosition position;  // of the entry itself: its sequence, and the hash that includes it
  std::string record;
};

// hash_n = SHA-256(hash_{n-1} || record_n); hash_0 = 0.
Sha256Digest ChainHash(const Sha256Digest& previous, std::string_view record);

using EntryId = std::array<std::byte, 16>;

// An id that must stay known until its bucket is forgotten, because of one record.
struct RememberedId {
  std::int64_t bucket = 0;  // time bucket, the unit of forgetting
  std::uint8_t kind = 0;    // of the record; (bucket, id, kind) is unique
  EntryId id{};
};

using RememberedIds = std::vector<RememberedId>;

// A place of constant size beside the log, that is written again and again: what a decision holds
// while it is open. No entry tells of it, and how many there are and their size are functions of
// the most decisions that were open at a time.
inline constexpr std::size_t kCellBytes = 48;
struct Cell {
  std::uint64_t slot = 0;  // cells have 0 .. n - 1
  bool live = false;       // else it is free, and the rest is zero
  EntryId id{};
  std::array<std::byte, kCellBytes> content{};
  friend bool operator==(const Cell&, const Cell&) = default;
};

}  // namespace bandana
