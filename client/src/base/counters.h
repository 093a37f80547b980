// The numbers behind Client::Stats.
#pragma once

#include <atomic>
#include <cstdint>

#include "bandana/client.h"

namespace bandana::device {

struct Counters {
  using Counter = std::atomic<std::uint64_t>;
  Counter selections{0};
  Counter reports_queued{0};
  Counter reports_defaulted{0};
  Counter reports_applied{0};
  Counter reports_duplicate{0};
  Counter reports_expired{0};
  Counter reports_overtaken{0};
  Counter reports_rejected{0};
  Counter reports_dropped{0};
  Counter delivery_attempts{0};
  Counter rewards_clipped{0};
  Counter streams_ended{0};
  Counter values_encoded{0};
  Counter values_missing{0};
  Counter values_unknown{0};
  Counter values_out_of_bounds{0};

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
