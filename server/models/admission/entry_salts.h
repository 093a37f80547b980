// Random bytes in every entry of a log that keeps raw rewards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/random/bit_source.h"
#include "server/log/update_log.h"

namespace bandana::server {

// The running hash of a log outlives its entries: checkpoints hold it. Without something that
// nobody can know, whoever has it could try rewards against an entry whose other fields are known.
// So each entry has 16 random bytes under the hash, which go with the entry (Salted in records.h).
// They are the first of SHA-256(key, number of the entry in its transaction), with a key of 32
// random bytes that is drawn for the transaction and forgotten once it is durable. A transaction
// that failed is tried again with its own key: how much randomness is drawn does not tell how
// often, which a report beside it may decide. Not thread-safe.
class EntrySalts {
 public:
  // Not `salted`: the log keeps nothing raw, and entries stay as they are. `bits` must outlive the
  // object.
  EntrySalts(bool salted, BitSource& bits) : salted_(salted), bits_(bits) {}
  ~EntrySalts() { Forget(); }
  EntrySalts(const EntrySalts&) = delete;
  EntrySalts& operator=(const EntrySalts&) = delete;

  // Before a record is judged: whether there is a key for the transaction. False: no randomness, so
  // that nothing may be appended.
  bool Ready();
  // Once all of the transaction are judged.
  void Put(LogBatch& batch);
  // The transaction is durable.
  void Committed() {
    if (used_) Forget();
  }

 private:
  void Forget();

  const bool salted_;
  BitSource& bits_;
  std::optional<std::array<std::byte, 32>> key_;
  bool used_ = false;  // by an entry of the transaction
};

}  // namespace bandana::server
