// The parts that tests and audits replace: time, entropy, draws. Shipped code uses the defaults.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/client.h"
#include "client/core/event_mechanism.h"
#include "client/src/base/scheduler.h"
#include "common/base/clock.h"
#include "common/random/bit_source.h"
#include "common/random/buffered_bits.h"

namespace bandana::device {

struct Seams {
  const Clock* clock = &SystemClock();
  // For the draws of randomizers and counters; everything else uses the system's.
  BitSource* bits = &BufferedBits();
  // The scheduler that measures delays.
  std::function<std::unique_ptr<Scheduler>()> make_scheduler = [] {
    return std::unique_ptr<Scheduler>(std::make_unique<ThreadScheduler>());
  };
  // The audit's: puts a mechanism around the model's own, one whose draw ignores its input.
  std::function<std::unique_ptr<EventMechanism>(std::unique_ptr<EventMechanism>)> wrap_mechanism;
  // Mutants of the audit: what a reaction changes beside the value that is held.
  std::function<void(Transaction&, ReportRow&, const EventMechanism&)> on_reaction;
  // Longest sleep between two looks at the wall clock: windows close by it, and it may be set.
  absl::Duration recheck = absl::Seconds(30);
};

absl::StatusOr<std::unique_ptr<Client>> Connect(const ClientOptions& options,
                                                std::shared_ptr<DeviceStore> store,
                                                const Seams& seams);

}  // namespace bandana::device
