#include "common/base/clock.h"

#include "absl/time/clock.h"

namespace bandana {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

}  // namespace

const Clock& SystemClock() {
  static const auto* const clock = new RealClock;
  return *clock;
}

}  // namespace bandana
