// A model's counts of its reports; stored with every transaction of the log.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"

namespace bandana {

// Threads: safe; single counters are exact, the set is not read at one instant.
class Counters {
 public:
  enum Index : std::size_t {
    kApplied,
    kDuplicate,
    kExpired,
    kFeaturesClipped,
    kRewardsClipped,
    kRejectedFirst,  // + RejectReason
  };
  static constexpr std::size_t kSize = kRejectedFirst + v1::RejectReason_ARRAYSIZE;
  using Values = std::array<std::uint64_t, kSize>;

  static std::size_t Rejected(v1::RejectReason reason) {
    return kRejectedFirst + static_cast<std::size_t>(reason);
  }

  void Add(std::size_t index, std::uint64_t count) {
    values_[index].fetch_add(count, std::memory_order_relaxed);
  }
  void Add(const Values& counts);
  Values Get() const;

  // As they are stored.
  static std::string Encode(const Values& values);
  // Takes stored values; an empty string is all zero. Errors: DATA_LOSS.
  absl::Status Restore(std::string_view bytes);

 private:
  std::array<std::atomic<std::uint64_t>, kSize> values_{};
};

}  // namespace bandana
