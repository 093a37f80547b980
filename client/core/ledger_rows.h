// The ledger's entries: append-only, each bound to all before it by a hash.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "client/core/sealed_rows.h"
#include "client/core/store_row.h"

namespace bandana::device {

using PolicyId = std::int64_t;

// One debit. Costs are in units of PrivacyTotals::kUnit, rounded up: of epsilon for events of a
// pure mechanism, of rho (zCDP) for a counter stream and for events of a policy with a delta.
struct LedgerEntry {
  PolicyId policy = 0;
  std::string user;
  std::uint64_t epoch = 0;  // of the stream
  std::string stream;       // its 16 bytes; empty for a debit of events
  std::uint64_t events = 0;
  std::uint64_t streams = 0;  // 1 for a stream; more in the summary of older entries
  std::uint64_t cost = 0;
};

// The total of the entries of one user under one policy.
struct Balance {
  std::uint64_t events = 0;
  std::uint64_t streams = 0;
  std::uint64_t epsilon_cost = 0;  // of the events
  std::uint64_t rho_cost = 0;      // of the streams
};

// Invariants: 1. hash of an entry = SHA-256 of the hash before it and of its fields; entries are
// numbered without gaps. 2. balances are the sums of the entries.
// Threads: not thread-safe; inside the writer's transactions. Cost: Append about 10 us; Load 2 us
// per entry.
class LedgerRows {
 public:
  using Key = std::pair<PolicyId, std::string>;

  // Both outlive it. Call Load before anything else.
  LedgerRows(SealedRows* rows, StoreRow* store) : rows_(rows), store_(store) {}

  void Append(const LedgerEntry& entry);
  Balance Of(PolicyId policy, std::string_view user) const;
  const std::map<Key, Balance>& balances() const { return balances_; }
  // The sum over all users and policies.
  const Balance& total() const { return total_; }
  const std::string& head() const { return head_; }
  std::int64_t entries() const { return sequence_ - store_->ledger_base; }

  // Verifies every entry and sums them anew, as after a rollback. Errors: DATA_LOSS.
  absl::Status Load();
  // Replaces all entries by one or two a user that carry the balances on, in the same chain.
  void Summarize();

 private:
  void Count(const LedgerEntry& entry);

  SealedRows* const rows_;
  StoreRow* const store_;
  std::map<Key, Balance> balances_;
  Balance total_;
  std::int64_t sequence_ = 0;
  std::string head_;
};

}  // namespace bandana::device
