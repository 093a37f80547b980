#include "client/src/store/ledger_rows.h"

#include <algorithm>
#include <limits>

#include "client/src/store/row_digest.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::uint64_t kSaturated = std::numeric_limits<std::int64_t>::max();

std::uint64_t AddUp(std::uint64_t a, std::uint64_t b) {
  return a < kSaturated && b < kSaturated - a ? a + b : kSaturated;
}

// SQLite's integers are signed.
std::int64_t Column(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min(value, kSaturated));
}

std::string HashOf(const std::string& before, std::int64_t sequence, const LedgerEntry& entry) {
  return RowDigest()
      .Add(before)
      .Add(sequence)
      .Add(entry.policy)
      .Add(entry.user)
      .Add(Column(entry.epoch))
      .Add(entry.stream)
      .Add(Column(entry.events))
      .Add(Column(entry.streams))
      .Add(Column(entry.cost))
      .FinishWhole();
}

}  // namespace

struct LedgerRows::Statements {
  Statement base, set_base, append, all, clear;
};

LedgerRows::LedgerRows(Database* database)
    : database_(database), sql_(std::make_unique<Statements>()) {}
LedgerRows::~LedgerRows() = default;

absl::StatusOr<std::unique_ptr<LedgerRows>> LedgerRows::Create(Database* database) {
  std::unique_ptr<LedgerRows> rows(new LedgerRows(database));
  Statements& sql = *rows->sql_;
  const struct {
    Statement* statement;
    const char* sql;
  } all[] = {
      {&sql.base, "SELECT ledger_base, ledger_base_hash FROM store"},
      {&sql.set_base, "UPDATE store SET ledger_base = ?1, ledger_base_hash = ?2"},
      {&sql.append, "INSERT INTO ledger VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
      {&sql.all,
       "SELECT sequence, policy, user, epoch, stream, events, streams, cost, hash FROM ledger "
       "ORDER BY sequence"},
      {&sql.clear, "DELETE FROM ledger"},
  };
  for (const auto& entry : all) {
    BANDANA_ASSIGN_OR_RETURN(*entry.statement, database->Prepare(entry.sql));
  }
  BANDANA_RETURN_IF_ERROR(rows->Load());
  return rows;
}

absl::Status LedgerRows::Load() {
  balances_.clear();
  total_ = {};
  if (!sql_->base.Step()) return DataLoss("device store: no ledger");
  base_sequence_ = sequence_ = sql_->base.Int(0);
  head_ = std::string(sql_->base.Blob(1));
  sql_->base.Reset();
  Statement& all = sql_->all;
  while (all.Step()) {
    const LedgerEntry entry = {.policy = all.Int(1),
                               .user = std::string(all.Blob(2)),
                               .epoch = static_cast<std::uint64_t>(all.Int(3)),
                               .stream = std::string(all.Blob(4)),
                               .events = static_cast<std::uint64_t>(all.Int(5)),
                               .streams = static_cast<std::uint64_t>(all.Int(6)),
                               .cost = static_cast<std::uint64_t>(all.Int(7))};
    head_ = HashOf(head_, ++sequence_, entry);
    if (all.Int(0) != sequence_ || all.Blob(8) != head_) {
      all.Reset();
      return DataLoss("device store: ledger entry ", sequence_, " is damaged or missing");
    }
    Count(entry);
  }
  return database_->failure();
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
  sql_->append.Bind(1, sequence_)
      .Bind(2, entry.policy)
      .BindBlob(3, entry.user)
      .Bind(4, Column(entry.epoch))
      .BindBlob(5, entry.stream)
      .Bind(6, Column(entry.events))
      .Bind(7, Column(entry.streams))
      .Bind(8, Column(entry.cost))
      .BindBlob(9, head_)
      .Run();
  Count(entry);
}

Balance LedgerRows::Of(PolicyId policy, std::string_view user) const {
  const auto found = balances_.find({policy, std::string(user)});
  return found == balances_.end() ? Balance() : found->second;
}

void LedgerRows::Summarize() {
  sql_->clear.Run();
  base_sequence_ = sequence_;
  sql_->set_base.Bind(1, base_sequence_).BindBlob(2, head_).Run();
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
