// The device's spending of its users' privacy, in events and in counter streams. Debits are durable
// before the draws they pay for, taken in blocks, and never refunded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "client/core/tables.h"
#include "client/core/user_set.h"

namespace bandana::device {

// One user of one model. The limit counts events under every policy the model ever had on this
// device: a new policy does not open the budget again.
struct Account {
  std::string model;
  PolicyId policy = 0;
  std::string user;
  std::uint64_t events_max = 0;  // 0 = no bound
  // The cost of one event in units of PrivacyTotals::kUnit: epsilon, or rho for Gaussian noise.
  std::uint64_t event_cost = 0;
};

// Invariants: 1. an event is granted only from a debit that an earlier transaction made durable.
// 2. debited <= events_max for every (model, user), with all that an older copy of the file may
// have forgotten. 3. what a crash leaves unused stays debited.
// Blocks start at one event and double up to kBlockEventsMax, so that a crash never costs a user
// more than what was used in that run, and near the limit they shrink again.
// Called inside transactions, but for Exhausted, Committed and RolledBack.
class Ledger {
 public:
  static constexpr std::uint64_t kBlockEventsMax = 64;

  enum class Grant {
    kGranted,      // one event of a durable block is the caller's
    kAfterCommit,  // a block was debited in this transaction: ask again after its commit
  };
  // Errors: FAILED_PRECONDITION the user's events are used up.
  absl::StatusOr<Grant> Take(Tables& tables, const Account& account);

  // Debits so many events in this transaction, all or none; their draws come in later ones. Errors:
  // FAILED_PRECONDITION the user has fewer left.
  absl::Status Debit(Tables& tables, const Account& account, std::uint64_t events);
  // The error that Debit would have, and no debit.
  absl::Status MayDebit(Tables& tables, const Account& account, std::uint64_t events) const;

  // Debits a whole counter stream in this transaction: rho of all its steps, in units of
  // PrivacyTotals::kUnit. The first draw comes in a later one, when IsDurable says so.
  void DebitStream(Tables& tables, const Account& account, const StreamRow& stream,
                   std::uint64_t rho_cost);
  bool IsDurable(StreamId stream) const { return !opening_.contains(stream); }

  // The events debited, without what live blocks still hold.
  std::uint64_t Spent(Tables& tables, PolicyId policy, const std::string& user) const;

  // The writer tells what became of its transaction.
  void Committed();
  void RolledBack();

  // True once the user can make no further report; may be late, never wrong. Outside of
  // transactions, perhaps beside one.
  bool Exhausted(std::string_view model, std::string_view user) const {
    return exhausted_.Contains(model, user);
  }
  // Marks the model's users whose events are all debited: what earlier runs left unused is lost.
  void MarkExhausted(Tables& tables, std::string_view model, std::uint64_t events_max);

 private:
  struct Block {
    std::uint64_t usable = 0;
    std::uint64_t pending = 0;  // debited in the open transaction
    std::uint64_t size = 0;     // of the last block
  };
  using Key = std::pair<PolicyId, std::string>;

  static std::uint64_t Debited(Tables& tables, const Account& account);
  static void DebitEvents(Tables& tables, const Account& account, std::uint64_t events);
  // Debits the next block; false when the limit leaves none.
  bool DebitBlock(Tables& tables, const Account& account, Block& block);
  // The transaction.
  void Ended();

  std::map<Key, Block> blocks_;
  std::set<Key> pending_;
  std::set<StreamId> opening_;                                   // debited in the open transaction
  std::vector<std::pair<std::string, std::string>> exhausting_;  // in the open transaction
  UserSet exhausted_;  // models and users whose events are used up
};

}  // namespace bandana::device
