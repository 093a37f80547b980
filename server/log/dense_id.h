// Ids that a server hands out in a row, so that "this one was reported" takes one bit.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "common/model/entries/log_entry.h"

namespace bandana::server {

// The number `number` of an issuer, which is drawn at random whenever one starts. As an id: 8 bytes
// of the issuer, 8 of the number, little-endian.
struct DenseId {
  static constexpr int kNumberBits = 48;
  static constexpr std::uint8_t kKinds = 2;  // of records, from 0: ids of the others are random

  std::uint64_t issuer = 0;
  std::uint64_t number = 0;  // below 2^48

  EntryId ToEntryId() const {
    EntryId id;
    std::memcpy(id.data(), &issuer, sizeof issuer);
    std::memcpy(id.data() + sizeof issuer, &number, sizeof number);
    return id;
  }
  // None where the number would be too large. One random id in 2^16 is taken for a dense one, which
  // costs memory and nothing else: both forms say exactly which ids are known.
  static std::optional<DenseId> Of(const RememberedId& id) {
    DenseId dense;
    std::memcpy(&dense.issuer, id.id.data(), sizeof dense.issuer);
    std::memcpy(&dense.number, id.id.data() + sizeof dense.issuer, sizeof dense.number);
    if (id.kind >= kKinds || dense.number >> kNumberBits != 0) return std::nullopt;
    return dense;
  }
};

// Which of a run of ids in a row are known. Stored as one row, written again whenever a bit of it
// changes.
struct IdChunk {
  static constexpr std::uint64_t kIds = 4096;

  std::uint64_t issuer = 0;
  std::uint8_t kind = 0;     // of the records (RememberedId)
  std::uint64_t number = 0;  // its ids have numbers kIds * number and up
  std::int64_t newest = 0;   // largest time bucket of a known id
  using Words = std::array<std::uint64_t, kIds / 64>;
  Words bits{};

  friend bool operator==(const IdChunk&, const IdChunk&) = default;
};

inline std::uint64_t KnownIds(const IdChunk::Words& bits) {
  std::uint64_t ids = 0;
  for (const std::uint64_t word : bits) ids += static_cast<std::uint64_t>(std::popcount(word));
  return ids;
}

}  // namespace bandana::server
