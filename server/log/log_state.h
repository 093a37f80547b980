// The one row of a log that every transaction rewrites: how far the log goes, what was trimmed, how
// many ids are remembered, how many cells and chunks of ids there are, and the owner's counters. It
// makes rows that vanished with a damaged page noticeable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/log/update_log.h"

namespace bandana::server {

struct LogState {
  LogPosition last;
  std::uint64_t trimmed = 0;
  std::int64_t forgotten_before = INT64_MIN;
  std::uint64_t ids = 0;
  std::uint64_t cells = 0;
  std::uint64_t chunks = 0;
  std::string counters;
};

// With its SHA-256 at the end.
std::string EncodeLogState(const LogState& state);
// Also reads version 1, which has no cells, and version 2, which has no chunks. Errors: DATA_LOSS.
absl::StatusOr<LogState> DecodeLogState(std::string_view bytes);

// The first 8 bytes of SHA-256 over an id's row.
std::int64_t IdCheck(const RememberedId& id, std::uint64_t sequence);

// A chunk's bits with the first 8 bytes of SHA-256 over its whole row.
std::string EncodeChunk(const IdChunk& chunk);
// Into the chunk, whose other fields are given. Errors: DATA_LOSS.
absl::Status DecodeChunk(std::string_view row, IdChunk& chunk);

// A cell's row beside its slot, of constant size, with the first 8 bytes of SHA-256 over slot and
// row.
std::string EncodeCell(const Cell& cell);
// Errors: DATA_LOSS.
absl::StatusOr<Cell> DecodeCell(std::uint64_t slot, std::string_view row);

}  // namespace bandana::server
