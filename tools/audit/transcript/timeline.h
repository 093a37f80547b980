// Simulated time: one queue of what happens next in a world.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "absl/time/time.h"
#include "client/src/base/scheduler.h"
#include "common/base/clock.h"

namespace bandana::audit {

// Whose task it is. While the device sleeps, its tasks wait.
enum class Party { kWorld, kDevice };

// Tasks run in the order of their times, then of their making. Not thread-safe.
class Timeline {
 public:
  using Task = std::function<void()>;

  explicit Timeline(absl::Time start) : now_(start) {}

  absl::Time now() const { return now_; }
  void At(absl::Time at, Party party, Task task);
  void After(absl::Duration delay, Party party, Task task) {
    At(now_ + std::max(delay, absl::ZeroDuration()), party, std::move(task));
  }
  // Runs the next task that is due at `end` or before; false when there is none.
  bool RunNext(absl::Time end);
  // The device does nothing before.
  void SleepUntil(absl::Time wake) { device_wakes_ = wake; }

 private:
  struct Event {
    absl::Time at;
    std::uint64_t number;
    Party party;
    mutable Task task;  // moved out of the queue's const top
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  absl::Time now_;
  absl::Time device_wakes_ = absl::InfinitePast();
  std::uint64_t next_ = 0;
  std::priority_queue<Event> events_;
};

// A wall clock: simulated time, and how far it was set off. Not thread-safe.
class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(const Timeline& timeline) : timeline_(timeline) {}
  absl::Time Now() const override { return timeline_.now() + offset_; }
  void Step(absl::Duration by) { offset_ += by; }

 private:
  const Timeline& timeline_;
  absl::Duration offset_;
};

// A client's scheduler: the device's tasks on the timeline. Delays are of the monotonic clock,
// which nobody sets.
class SimulatedScheduler final : public device::Scheduler {
 public:
  explicit SimulatedScheduler(Timeline& timeline)
      : timeline_(timeline), waiting_(std::make_shared<Waiting>()) {}
  ~SimulatedScheduler() override { Stop(); }
  absl::Duration Elapsed() const override { return timeline_.now() - absl::UnixEpoch(); }
  bool RunAfter(absl::Duration delay, Task task) override;
  void Stop() override;

 private:
  using Waiting = std::map<std::uint64_t, Task>;
  Timeline& timeline_;
  const std::shared_ptr<Waiting> waiting_;
  std::uint64_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace bandana::audit
