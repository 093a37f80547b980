// The numbers behind Client::Stats.
#pragma once

#include <cstdint>

#include "bandana/client.h"

namespace bandana::device {

struct Counters {
  std::uint64_t selections = 0;
  std::uint64_t reports_queued = 0;
  std::uint64_t reports_defaulted = 0;
  std::uint64_t reports_applied = 0;
  std::uint64_t reports_duplicate = 0;
  std::uint64_t reports_expired = 0;
  std::uint64_t reports_overtaken = 0;
  std::uint64_t reports_rejected = 0;
  std::uint64_t reports_dropped = 0;
  std::uint64_t delivery_attempts = 0;
  std::uint64_t rewards_clipped = 0;
  std::uint64_t streams_ended = 0;
  std::uint64_t values_encoded = 0;
  std::uint64_t values_missing = 0;
  std::uint64_t values_unknown = 0;
  std::uint64_t values_out_of_bounds = 0;

  void Count(Delivery delivery) {
    switch (delivery) {
      case Delivery::kApplied:
        ++reports_applied;
        break;
      case Delivery::kDuplicate:
        ++reports_duplicate;
        break;
      case Delivery::kExpired:
        ++reports_expired;
        break;
      case Delivery::kRejected:
        ++reports_rejected;
        break;
      case Delivery::kDropped:
        ++reports_dropped;
        break;
    }
  }
};

}  // namespace bandana::device
