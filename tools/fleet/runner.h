// Drives an environment's decisions through a device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "tools/environments/environment.h"
#include "tools/fleet/device.h"
#include "tools/fleet/tally.h"

namespace bandana {

struct RunOptions {
  // Decisions to make, >= 1.
  std::uint64_t rounds = 1;
  // Closed loop: decisions under way at once, from their Select to the answer to their report;
  // >= 1.
  int in_flight = 1;
  // Open loop when > 0: decisions started per second, whatever is under way.
  double rate = 0;
  // Open loop: exponential gaps between arrivals instead of equal ones.
  bool poisson = true;
  // Seed of the arrivals.
  std::uint64_t seed = 1;
  // Give up when the server answered nothing for so long while something was under way.
  absl::Duration reconnect_timeout = absl::Seconds(30);
};

// kMisfit: the server called the first decision invalid, so all of them are: an environment of
// points and a model that ranks, say.
enum class RunEnd { kCompleted, kInterrupted, kServerAway, kMisfit };

struct RunResult {
  RunEnd end = RunEnd::kCompleted;
  absl::Status misfit;  // what the server said, of kMisfit
  Tally tally;
  absl::Duration elapsed;
  std::uint64_t late_sends =
      0;  // open loop: decisions started more than 1 ms after their planned time
  std::set<std::string> users;  // seen
};

// Called about four times per second with the counts so far and the time since the start.
using ProgressFunction = std::function<void(const Tally&, absl::Duration elapsed)>;
// Called with each decision whose answer was legal, in the order of the answers.
using ShownFunction =
    std::function<void(std::uint64_t round, const Choice& decision, const Selection& selection)>;

// Makes options.rounds decisions: Select (SelectPoint where actions are points), check of the
// answer, reward, Report at once. A Select that fails for the moment (UNAVAILABLE,
// DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED) is tried again until reconnect_timeout; any other failure
// abandons the decision, but INVALID_ARGUMENT before anything was decided ends the run. Latency of
// a Select counts from the decision's start, in the open loop from its planned start, through every
// attempt. Stops early when `stop` is set: starts nothing new and waits two seconds for what is
// under way. The environment and the device must fit each other
// (dimension). Blocks. Threads: callbacks of the device only send messages to the calling thread,
// which does everything.
RunResult Run(FleetDevice& device, const Environment& environment, const RunOptions& options,
              const std::atomic<bool>& stop, const ProgressFunction& progress,
              const ShownFunction& shown = nullptr);

}  // namespace bandana
