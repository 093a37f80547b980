// What the cell of an open decision holds beside the log.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/base/aead.h"
#include "common/design/instance_id.h"
#include "common/model/entries/log_entry.h"
#include "common/random/bit_source.h"

namespace bandana {

// The reward that the event of a decision will have whose window is open.
struct WindowValue {
  bool reported = false;
  double reward = 0;  // as it counts: the default until reported
  friend bool operator==(const WindowValue&, const WindowValue&) = default;
};

// By decision.
using WindowValues = absl::flat_hash_map<EntryId, WindowValue>;

using CellContent = std::array<std::byte, kCellBytes>;
using CellKey = std::array<std::byte, kAeadKeyBytes>;

// With a key AES-256-GCM under it, with a fresh random nonce each time and (instance, decision)
// authenticated: a cell opens for the decision and in the model for which it was sealed. Every cell
// looks new when it is written again, with the same value or another. Without a key it is plain:
// models that keep no rewards secret. Limit: 2^32 sealings a key (NIST SP 800-38D, 8.3).
// Threads: safe. Cost: about 1 us.
class CellCodec {
 public:
  // `bits` must outlive it.
  CellCodec(const InstanceId& instance, const std::optional<CellKey>& key, BitSource& bits);

  // Errors: UNAVAILABLE entropy or the cipher failed.
  absl::StatusOr<CellContent> Encode(const EntryId& decision, const WindowValue& value) const;
  // Errors: DATA_LOSS damaged, sealed with another key, or of another decision or model.
  absl::StatusOr<WindowValue> Decode(const EntryId& decision, const CellContent& content) const;

 private:
  std::string Associated(const EntryId& decision) const;

  const InstanceId instance_;
  std::optional<AeadKey> key_;
  BitSource& bits_;
};

}  // namespace bandana
