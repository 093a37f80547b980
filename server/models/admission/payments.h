// Which releases of the present epoch are paid for.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/model/state/debit_policy.h"
#include "server/log/update_log.h"

namespace bandana::server {

// Releases of one node that debits of an epoch cover.
struct Paid {
  std::uint64_t epoch = 0;
  std::uint64_t releases = 0;
};

// A change stands with Commit or falls with Rollback. Not thread-safe.
class Payments {
 public:
  Payments() = default;
  explicit Payments(std::vector<Paid> paid) : paid_(std::move(paid)) {}

  // Puts debits into the batch until the releases are paid for. They are entries before the first
  // event they pay for, durable with it or before it; noise is drawn from durable entries only.
  void Pay(const DebitPolicy& policy, std::uint64_t epoch, const DebitPolicy::Due& due,
           LogBatch& batch);
  void Commit() { changed_.clear(); }
  void Rollback();

 private:
  std::vector<Paid> paid_;                     // by node
  std::vector<std::pair<int, Paid>> changed_;  // node, before
};

// One debit of the policy.
void AddDebit(const DebitPolicy& policy, std::uint64_t epoch, int node, LogBatch& batch);

}  // namespace bandana::server
