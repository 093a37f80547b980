// The privacy that a model's releases have cost, as its log's debits add up.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bandana/v1/admin.pb.h"
#include "common/accounting/composition.h"
#include "common/base/bytes.h"
#include "common/model/entries/records.h"

namespace bandana {

// The charges of one node, over all epochs.
struct Account {
  PrivacyTotals totals;
  std::uint64_t last_epoch = 0;  // of its last debit; 0 = none
  std::uint64_t releases = 0;    // paid for in that epoch
};

// Totals are fixed point, rounded up (common/accounting/composition.h); nothing is ever taken back.
// Not thread-safe.
class Ledger {
 public:
  static constexpr std::size_t kEntriesMax = 1000;  // kept, the newest

  // Errors: DATA_LOSS a cost that no debit has.
  absl::Status Add(std::uint64_t sequence, const DebitRecord& debit);

  const std::vector<Account>& accounts() const { return accounts_; }  // by node
  // The largest over nodes of every total: what no principal exceeds.
  const PrivacyTotals& largest() const { return largest_; }
  std::uint64_t debits() const { return debits_; }  // since this object was made
  // `user` and `entries` of the response; readings at `delta`, or without one where it is 0.
  // `principal`: of every debit; empty: each its node's.
  void Fill(double delta, std::string_view principal, v1::GetLedgerResponse& response) const;

  void Encode(ByteWriter& out) const;
  absl::Status Decode(ByteReader& in);

 private:
  struct Entry {
    std::uint64_t sequence = 0;
    DebitRecord debit;
  };
  std::vector<Account> accounts_;
  PrivacyTotals largest_;
  std::uint64_t debits_ = 0;
  std::deque<Entry> entries_;  // oldest first
};

// The readings that apply, at `delta`.
void FillReadings(const PrivacyTotals& totals, double delta, v1::LedgerReadings& out);

}  // namespace bandana
