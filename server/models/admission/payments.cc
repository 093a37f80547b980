#include "server/models/admission/payments.h"

#include <cstddef>

#include "common/model/entries/records.h"

namespace bandana::server {

void AddDebit(const DebitPolicy& policy, std::uint64_t epoch, int node, LogBatch& batch) {
  DebitRecord debit = policy.cost();
  debit.epoch = epoch;
  debit.node = node;
  batch.AddOwned(Encode(debit));
}

void Payments::Pay(const DebitPolicy& policy, std::uint64_t epoch, const DebitPolicy::Due& due,
                   LogBatch& batch) {
  const auto i = static_cast<std::size_t>(due.node);
  if (i >= paid_.size()) paid_.resize(i + 1);
  Paid now = paid_[i];
  if (now.epoch != epoch) now = {epoch, 0};
  if (now.releases >= due.releases) return;
  now.releases += policy.cost().releases;
  changed_.emplace_back(due.node, std::exchange(paid_[i], now));
  AddDebit(policy, epoch, due.node, batch);
}

void Payments::Rollback() {
  for (auto change = changed_.rbegin(); change != changed_.rend(); ++change) {
    paid_[change->first] = change->second;
  }
  changed_.clear();
}

}  // namespace bandana::server
