#include "client/core/ledger_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "client/core/cells.h"
#include "client/core/row_digest.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::uint64_t kSaturated = std::numeric_limits<std::int64_t>::max();

std::uint64_t AddUp(std::uint64_t a, std::uint64_t b) {
  return a < kSaturated && b < kSaturated - a ? a + b : kSaturated;
}

// The rows' integers are signed.
std::int64_t Stored(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min(value, kSaturated));
}

std::string HashOf(const std::string& before, std::int64_t sequence, const LedgerEntry& entry) {
  return RowDigest()
      .Add(before)
      .Add(sequence)
      .Add(entry.policy)
      .Add(entry.user)
      .Add(Stored(entry.epoch))
      .Add(entry.stream)
      .Add(Stored(entry.events))
      .Add(Stored(entry.streams))
      .Add(Stored(entry.cost))
      .FinishWhole();
}

}  // namespace

absl::Status LedgerRows::Load() {
  balances_.clear();
  total_ = {};
  sequence_ = store_->ledger_base;
  head_ = store_->ledger_base_hash;
  bool sound = true;
  rows_->Scan(Table::kLedger, {}, [&](Record& row) {
    const LedgerEntry entry = {.policy = IntegerAt(row, 1),
                               .user = BytesAt(row, 2),
                               .epoch = CountAt(row, 3),
                               .stream = BytesAt(row, 4),
                               .events = CountAt(row, 5),
                               .streams = CountAt(row, 6),
                               .cost = CountAt(row, 7)};
    head_ = HashOf(head_, ++sequence_, entry);
    sound = IntegerAt(row, 0) == sequence_ && BytesAt(row, 8) == head_;
    if (sound) Count(entry);
    return sound;
  });
  if (!sound) return DataLoss("device store: ledger entry ", sequence_, " is damaged or missing");
  return rows_->failure();
}

void LedgerRows::Count(const LedgerEntry& entry) {
  for (Balance* balance : {&balances_[{entry.policy, entry.user}], &total_}) {
    balance->events = AddUp(balance->events, entry.events);
    balance->streams = AddUp(balance->streams, entry.streams);
    std::uint64_t& cost = entry.streams > 0 ? balance->rho_cost : balance->epsilon_cost;
    cost = AddUp(cost, entry.cost);
  }
}

void LedgerRows::Append(const LedgerEntry& entry) {
  head_ = HashOf(head_, ++sequence_, entry);
  rows_->Put(Table::kLedger,
             {sequence_, entry.policy, entry.user, Stored(entry.epoch), entry.stream,
              Stored(entry.events), Stored(entry.streams), Stored(entry.cost), head_});
  Count(entry);
}

Balance LedgerRows::Of(PolicyId policy, std::string_view user) const {
  const auto found = balances_.find({policy, std::string(user)});
  return found == balances_.end() ? Balance() : found->second;
}

void LedgerRows::Summarize() {
  for (std::int64_t entry = store_->ledger_base + 1; entry <= sequence_; ++entry) {
    rows_->Erase(Table::kLedger, {entry});
  }
  store_->ledger_base = sequence_;
  store_->ledger_base_hash = head_;
  store_->Write(*rows_);
  const auto balances = std::exchange(balances_, {});
  total_ = {};
  for (const auto& [key, balance] : balances) {
    const auto& [policy, user] = key;
    if (balance.events > 0) {
      Append(
          {.policy = policy, .user = user, .events = balance.events, .cost = balance.epsilon_cost});
    }
    if (balance.streams > 0) {
      Append(
          {.policy = policy, .user = user, .streams = balance.streams, .cost = balance.rho_cost});
    }
  }
}

}  // namespace bandana::device
