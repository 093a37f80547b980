// Numbers for decisions, so that a remembered one takes a bit.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/model/entries/decision.h"
#include "server/log/dense_id.h"

namespace bandana::server {

// Nobody outside sees an id: it goes into a sealed token, so that none tells how many decisions
// others made. Threads: safe.
class DecisionNumbers {
 public:
  // `issuer`: drawn at random at each start. Not `numbered`: ids stay as they are.
  DecisionNumbers(bool numbered, std::uint64_t issuer) : numbered_(numbered), issuer_(issuer) {}

  // Puts the next number into an id that was drawn at random.
  void Put(DecisionId& id) {
    if (!numbered_) return;
    // 2^48 of them would take 200 years at 42,000 per second; after that ids stay random.
    const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    if (number >> DenseId::kNumberBits != 0) return;
    id = DenseId{.issuer = issuer_, .number = number}.ToEntryId();
  }

  std::uint64_t issuer() const { return issuer_; }

 private:
  const bool numbered_;
  const std::uint64_t issuer_;
  std::atomic<std::uint64_t> next_ = 0;
};

}  // namespace bandana::server
