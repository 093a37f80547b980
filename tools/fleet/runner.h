// Drives an environment's decisions through the SDK.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bandana/client.h"
#include "tools/environments/environment.h"
#include "tools/fleet/tally.h"

namespace bandana {

// Threads: Send from any, Receive from one. Senders may keep a mailbox alive (std::shared_ptr)
// beyond its reader.
template <typename Message>
class Mailbox {
 public:
  void Send(Message message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
  }

  // Everything that arrived, in order; waits until `deadline` for the first. May be empty.
  std::vector<Message> Receive(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, deadline, [this] { return !messages_.empty(); });
    return std::exchange(messages_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
};

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

// Makes options.rounds decisions: Select (SelectPoint where actions are points), check of the
// answer, reward, Report at once. A Select that fails for the moment (UNAVAILABLE,
// DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED) is tried again until reconnect_timeout; any other failure
// abandons the decision, but INVALID_ARGUMENT before anything was decided ends the run. Latency of
// a Select counts from the decision's start, in the open loop from its planned start, through every
// attempt. Stops early when `stop` is set: starts nothing new and waits two seconds for what is
// under way. The environment and the client must fit each other
// (dimension). Blocks. Threads: callbacks of the client only send messages to the calling thread,
// which does everything.
RunResult Run(Client& client, const Environment& environment, const RunOptions& options,
              const std::atomic<bool>& stop, const ProgressFunction& progress);

}  // namespace bandana
