#include "client/core/ledger.h"

#include <algorithm>

#include "common/base/status.h"

namespace bandana::device {
namespace {

absl::Status UsedUp(const Account& account) {
  return FailedPrecondition("the user's events are used up: events_per_user_max is ",
                            account.events_max);
}

absl::Status TooFewLeft(const Account& account, std::uint64_t left, std::uint64_t events) {
  return FailedPrecondition("the user has ", left, " events left, and the decision is ", events,
                            ": events_per_user_max is ", account.events_max);
}

// events <= 64, and a cost beyond 2^56 units is an epsilon beyond 65536: it stays there.
std::uint64_t SaturatingProduct(std::uint64_t cost, std::uint64_t events) {
  return std::min(cost, std::uint64_t{1} << 56) * events;
}

}  // namespace

std::uint64_t Ledger::Debited(Tables& tables, const Account& account) {
  std::uint64_t events = tables.lost_events();
  for (const PolicyRow& policy : tables.PoliciesOf(account.model)) {
    events += tables.Events(policy.id, account.user);
  }
  return events;
}

void Ledger::DebitEvents(Tables& tables, const Account& account, std::uint64_t events) {
  tables.Debit({.policy = account.policy,
                .user = account.user,
                .events = events,
                .cost = SaturatingProduct(account.event_cost, events)});
}

bool Ledger::DebitBlock(Tables& tables, const Account& account, Block& block) {
  std::uint64_t size = std::clamp<std::uint64_t>(2 * block.size, 1, kBlockEventsMax);
  if (account.events_max > 0) {
    const std::uint64_t debited = Debited(tables, account);
    if (debited >= account.events_max) return false;
    // A sixteenth of what is left: a crash near the limit must not take the rest.
    size = std::min(size, std::max<std::uint64_t>((account.events_max - debited) / 16, 1));
  }
  DebitEvents(tables, account, size);
  block.pending = size;
  pending_.emplace(account.policy, account.user);
  return true;
}

absl::StatusOr<Ledger::Grant> Ledger::Take(Tables& tables, const Account& account) {
  Block& block = blocks_[{account.policy, account.user}];
  if (block.usable == 0) {
    if (block.pending == 0 && !DebitBlock(tables, account, block)) {
      exhausting_.emplace_back(account.model, account.user);
      return UsedUp(account);
    }
    return Grant::kAfterCommit;
  }
  --block.usable;
  // The next block rides in this transaction, long before this one is empty.
  if (block.usable <= block.size / 4 && block.pending == 0 && !DebitBlock(tables, account, block) &&
      block.usable == 0) {
    exhausting_.emplace_back(account.model, account.user);
  }
  return Grant::kGranted;
}

absl::Status Ledger::MayDebit(Tables& tables, const Account& account, std::uint64_t events) const {
  if (account.events_max == 0) return absl::OkStatus();
  const std::uint64_t debited = Debited(tables, account);
  if (debited >= account.events_max) return UsedUp(account);
  const std::uint64_t left = account.events_max - debited;
  return events <= left ? absl::OkStatus() : TooFewLeft(account, left, events);
}

absl::Status Ledger::Debit(Tables& tables, const Account& account, std::uint64_t events) {
  absl::Status may = MayDebit(tables, account, events);
  if (may.ok()) DebitEvents(tables, account, events);
  if (account.events_max > 0 && Debited(tables, account) >= account.events_max) {
    exhausting_.emplace_back(account.model, account.user);
  }
  return may;
}

void Ledger::DebitStream(Tables& tables, const Account& account, const StreamRow& stream,
                         std::uint64_t rho_cost) {
  tables.Debit({.policy = account.policy,
                .user = account.user,
                .epoch = stream.epoch,
                .stream = stream.stream,
                .streams = 1,
                .cost = rho_cost});
  opening_.insert(stream.id);
}

std::uint64_t Ledger::Spent(Tables& tables, PolicyId policy, const std::string& user) const {
  const std::uint64_t debited = tables.Events(policy, user);
  const auto found = blocks_.find({policy, user});
  return found == blocks_.end() ? debited : debited - found->second.usable - found->second.pending;
}

void Ledger::Committed() {
  for (const Key& key : pending_) {
    Block& block = blocks_[key];
    block.size = std::exchange(block.pending, 0);
    block.usable += block.size;
  }
  for (const auto& [model, user] : exhausting_) exhausted_.Add(model, user);
  Ended();
}

void Ledger::RolledBack() {
  for (const Key& key : pending_) blocks_[key].pending = 0;
  Ended();
}

void Ledger::Ended() {
  pending_.clear();
  opening_.clear();
  exhausting_.clear();
}

void Ledger::MarkExhausted(Tables& tables, std::string_view model, std::uint64_t events_max) {
  if (events_max == 0) return;
  std::set<PolicyId> of_model;
  for (const PolicyRow& policy : tables.PoliciesOf(model)) of_model.insert(policy.id);
  std::map<std::string, std::uint64_t> events;
  for (const auto& [key, balance] : tables.ledger().balances()) {
    const auto& [policy, user] = key;
    if (of_model.contains(policy)) events[user] += Spent(tables, policy, user);
  }
  for (const auto& [user, count] : events) {
    if (count + tables.lost_events() >= events_max) exhausting_.emplace_back(model, user);
  }
}

}  // namespace bandana::device
