#include "common/model/state/ledger.h"

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr int kAccountsMax = kIndependentNodesMax;  // nothing is sized by a damaged entry

void Put(ByteWriter& out, const PrivacyTotals& t) {
  for (const std::uint64_t value : {t.pure, t.mu_squared, t.rho, t.variation, t.releases_pure,
                                    t.releases_gaussian, t.releases_zcdp}) {
    out.U64(value);
  }
}

PrivacyTotals TakeTotals(ByteReader& in) {
  PrivacyTotals t;
  for (std::uint64_t* value : {&t.pure, &t.mu_squared, &t.rho, &t.variation, &t.releases_pure,
                               &t.releases_gaussian, &t.releases_zcdp}) {
    *value = in.U64();
  }
  return t;
}

PrivacyCost CostOf(const DebitRecord& debit) {
  if (debit.mu > 0) return PrivacyCost::Gaussian({debit.mu}, {debit.variation});
  return debit.pure > 0 ? PrivacyCost::Pure({debit.pure}) : PrivacyCost::Zcdp({debit.rho});
}

}  // namespace

absl::Status Ledger::Add(std::uint64_t sequence, const DebitRecord& debit) {
  if (debit.node < 0 || debit.node >= kAccountsMax) {
    return DataLoss("a debit's node is ", debit.node);
  }
  const auto node = static_cast<std::size_t>(debit.node);
  if (node >= accounts_.size()) accounts_.resize(node + 1);
  Account& account = accounts_[node];
  const auto totals = Compose(account.totals, CostOf(debit), debit.releases);
  if (!totals.ok()) return DataLoss("a debit: ", totals.status().message());
  account.totals = *totals;
  if (account.last_epoch != debit.epoch) account.releases = 0;
  account.last_epoch = debit.epoch;
  account.releases += debit.releases;
  largest_ = Parallel(largest_, account.totals);
  ++debits_;
  entries_.push_back({sequence, debit});
  if (entries_.size() > kEntriesMax) entries_.pop_front();
  return absl::OkStatus();
}

void FillReadings(const PrivacyTotals& totals, double delta, v1::LedgerReadings& out) {
  out.set_delta(delta);
  const auto readings = Read(totals, {delta});
  if (!readings.ok()) return;
  if (readings->pure_sum) out.set_epsilon_pure(readings->pure_sum->value);
  if (readings->gaussian_curve) out.set_epsilon_gaussian(readings->gaussian_curve->value);
  if (readings->zcdp) out.set_epsilon_zcdp(readings->zcdp->value);
}

void Ledger::Fill(double delta, std::string_view principal, v1::GetLedgerResponse& response) const {
  FillReadings(largest_, delta, *response.mutable_user());
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    v1::LedgerEntry& out = *response.add_entries();
    out.set_log_sequence(entry->sequence);
    out.set_epoch(entry->debit.epoch);
    out.set_principal(principal.empty() ? absl::StrCat("node ", entry->debit.node)
                                        : std::string(principal));
    const auto releases = static_cast<double>(entry->debit.releases);
    out.set_epsilon(entry->debit.pure * releases);
    out.set_rho(entry->debit.rho * releases);
  }
}

void Ledger::Encode(ByteWriter& out) const {
  out.U64(accounts_.size());
  for (const Account& account : accounts_) {
    Put(out, account.totals);
    out.U64(account.last_epoch);
    out.U64(account.releases);
  }
  out.U64(entries_.size());
  for (const Entry& entry : entries_) {
    out.U64(entry.sequence);
    out.U64(entry.debit.epoch);
    out.I32(entry.debit.node);
    out.U64(entry.debit.releases);
    out.F64(entry.debit.pure);
    out.F64(entry.debit.rho);
  }
}

absl::Status Ledger::Decode(ByteReader& in) {
  const std::uint64_t accounts = in.U64();
  for (std::uint64_t i = 0; i < accounts && in.ok(); ++i) {
    Account& account = accounts_.emplace_back();
    account.totals = TakeTotals(in);
    account.last_epoch = in.U64();
    account.releases = in.U64();
    largest_ = Parallel(largest_, account.totals);
  }
  const std::uint64_t entries = in.U64();
  for (std::uint64_t i = 0; i < entries && in.ok(); ++i) {
    Entry& entry = entries_.emplace_back();
    entry.sequence = in.U64();
    entry.debit.epoch = in.U64();
    entry.debit.node = in.I32();
    entry.debit.releases = in.U64();
    entry.debit.pure = in.F64();
    entry.debit.rho = in.F64();
  }
  return in.ok() ? absl::OkStatus() : DataLoss("checkpoint: the ledger is truncated");
}

}  // namespace bandana
