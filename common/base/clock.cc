#include "common/base/clock.h"

#include <time.h>

#include "absl/time/clock.h"
#include "common/base/check.h"

namespace bandana {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  absl::Time Steady() const override {
    timespec now{};
    BANDANA_CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
    return absl::TimeFromTimespec(now);
  }
};

}  // namespace

const Clock& SystemClock() {
  static const auto* const clock = new RealClock;
  return *clock;
}

absl::Time SteadyNow() { return SystemClock().Steady(); }

}  // namespace bandana
