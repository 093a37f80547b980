#include "client/core/accounted_events.h"

namespace bandana::device {

absl::Status AccountedEvents::Debit(Transaction& transaction, const std::string& user,
                                    int events) const {
  return transaction.ledger.Debit(transaction.tables, AccountOf(user),
                                  static_cast<std::uint64_t>(events));
}

absl::Status AccountedEvents::MayDebit(Transaction& transaction, const std::string& user,
                                       int events) const {
  return transaction.ledger.MayDebit(transaction.tables, AccountOf(user),
                                     static_cast<std::uint64_t>(events));
}

}  // namespace bandana::device
