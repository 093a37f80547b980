// The content of an open decision's cell, beside the log.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

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

// With a key AES-256-GCM, with a fresh random nonce each time and (instance, decision)
// authenticated: a cell opens for the decision and in the model for which it was sealed. Every cell
// looks new when it is written again, with the same value or another. Without a key it is plain:
// models that keep no rewards secret.
//
// AES-GCM with random nonces allows 2^32 sealings per key (NIST SP 800-38D, 8.3), which a busy
// model reaches within weeks, over any number of runs. So each sealing draws one of 2^24 keys that
// are derived from the model's, and no count is kept: 2^52 sealings give none of them more than
// 2^29. Threads: safe. Cost: about 2 us.
class CellCodec {
 public:
  // Servers that read entries of this kind (kEntryKindRead) know derived keys. Those before know
  // one key, and cells are sealed under that one while such a server may take the log over.
  static constexpr int kDerivedRead = 24;

  // `bits` must outlive it. `kind_read`: of the servers of the store; null: they all do.
  CellCodec(const InstanceId& instance, const std::optional<CellKey>& key, BitSource& bits,
            std::shared_ptr<const std::atomic<int>> kind_read = nullptr);

  // Errors: UNAVAILABLE entropy or the cipher failed.
  absl::StatusOr<CellContent> Encode(const EntryId& decision, const WindowValue& value) const;
  // Errors: DATA_LOSS damaged, sealed with another key, or of another decision or model.
  absl::StatusOr<WindowValue> Decode(const EntryId& decision, const CellContent& content) const;

 private:
  static constexpr std::size_t kChoiceBytes = 3;
  std::string Associated(const EntryId& decision) const;
  bool DerivesKeys() const;
  // Nothing when OpenSSL failed.
  std::optional<AeadKey> KeyOf(std::span<const std::byte, kChoiceBytes> choice) const;

  const InstanceId instance_;
  const std::optional<CellKey> secret_;
  std::optional<AeadKey> key_;
  BitSource& bits_;
  const std::shared_ptr<const std::atomic<int>> kind_read_;
};

}  // namespace bandana
