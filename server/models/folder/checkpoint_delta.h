// A checkpoint as what has changed since another one, its base. Layout: docs/formats/checkpoint.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/byte_sink.h"

namespace bandana::server {

// Which chunks a checkpoint has, and where. About 60 bytes per chunk (ContentChunks). Not
// thread-safe.
class CheckpointIndex {
 public:
  // Reads the chunks that `checkpoint` gives while `sink` takes them. Errors: those of either.
  static absl::StatusOr<CheckpointIndex> Of(std::uint64_t sequence, const ByteSource& checkpoint,
                                            const ByteSink& sink);
  std::uint64_t sequence() const { return sequence_; }
  std::uint64_t bytes() const { return bytes_; }
  // Where a chunk of equal content begins.
  std::optional<std::uint64_t> Find(std::string_view chunk) const;

 private:
  using Key = std::array<std::byte, 16>;  // of SHA-256
  explicit CheckpointIndex(std::uint64_t sequence) : sequence_(sequence) {}
  static Key KeyOf(std::string_view chunk);

  std::uint64_t sequence_;
  std::uint64_t bytes_ = 0;
  absl::flat_hash_map<Key, std::uint64_t> begins_;
};

// The difference of `checkpoint` to the base. `base` must outlive it.
ByteSource DeltaTo(const CheckpointIndex& base, ByteSource checkpoint);

// The sequence of the base; nullopt: not a delta. Looks at nothing behind it.
std::optional<std::uint64_t> BaseOf(std::string_view bytes);

// Reads as many bytes of the base as `out` has, from `offset` on. Errors: DATA_LOSS they are not
// there; UNAVAILABLE I/O.
using ReadBase = std::function<absl::Status(std::uint64_t offset, std::span<char> out)>;
// The checkpoint that DeltaTo was given. A base that is damaged gives other bytes: their own digest
// tells. Errors: DATA_LOSS damaged, or of unknown version; those of `read`.
absl::StatusOr<std::string> ApplyDelta(std::string_view delta, const ReadBase& read);

}  // namespace bandana::server
