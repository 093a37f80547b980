// Why a model takes no reports, or none of some users, until somebody does something about it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace bandana::server {

enum class RefusalReason : std::uint8_t { kIds, kUsers, kBudget, kDisk, kLog, kClock };
inline constexpr std::array kRefusalReasons = {RefusalReason::kIds,    RefusalReason::kUsers,
                                               RefusalReason::kBudget, RefusalReason::kDisk,
                                               RefusalReason::kLog,    RefusalReason::kClock};
// As metrics and GetStats name it: ids, users, budget, disk, log, clock.
std::string_view NameOf(RefusalReason reason);

struct LastingRefusal {
  RefusalReason reason = RefusalReason::kLog;
  std::string text;    // what is the matter, for people
  std::string remedy;  // what ends it
};

// The reasons for which the gate refuses reports now: set with the first record that was refused,
// cleared when the cause is gone. Reports whose arrival is secret never set one. Threads: safe.
class GateRefusals {
 public:
  void Set(RefusalReason reason) { bits_.fetch_or(BitOf(reason), std::memory_order_relaxed); }
  void Clear(RefusalReason reason) { bits_.fetch_and(~BitOf(reason), std::memory_order_relaxed); }
  bool Has(RefusalReason reason) const {
    return (bits_.load(std::memory_order_relaxed) & BitOf(reason)) != 0;
  }

 private:
  static std::uint32_t BitOf(RefusalReason reason) {
    return std::uint32_t{1} << static_cast<std::uint32_t>(reason);
  }
  std::atomic<std::uint32_t> bits_{0};
};

struct RefusalLimits {
  std::uint64_t ids_max = 0;  // decisions_open_max
  int users_max = 0;
};
// In the order of kRefusalReasons. `health`: ObservedModel::Health. `disbelieved`: Clock's.
std::vector<LastingRefusal> RefusalsOf(const GateRefusals& gate, const RefusalLimits& limits,
                                       const absl::Status& health, absl::Duration disbelieved);

}  // namespace bandana::server
