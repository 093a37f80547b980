#include "tools/audit/transcript/timeline.h"

#include <algorithm>
#include <utility>

namespace bandana::audit {

void Timeline::At(absl::Time at, Party party, Task task) {
  events_.push(
      {.at = std::max(at, now_), .number = next_++, .party = party, .task = std::move(task)});
}

bool Timeline::RunNext(absl::Time end) {
  while (!events_.empty() && events_.top().at <= end) {
    const Event& top = events_.top();
    const Party party = top.party;
    now_ = std::max(now_, top.at);
    Task task = std::move(top.task);
    events_.pop();
    if (party == Party::kDevice && now_ < device_wakes_) {
      At(device_wakes_, party, std::move(task));  // in their order
      continue;
    }
    task();
    return true;
  }
  now_ = std::max(now_, end);
  return false;
}

bool SimulatedScheduler::RunAfter(absl::Duration delay, Task task) {
  if (stopped_) return false;
  const std::uint64_t number = next_++;
  (*waiting_)[number] = std::move(task);
  timeline_.After(delay, Party::kDevice, [waiting = waiting_, number] {
    const auto found = waiting->find(number);
    if (found == waiting->end()) return;
    const Task task = std::move(found->second);
    waiting->erase(found);
    task();
  });
  return true;
}

void SimulatedScheduler::Stop() {
  if (std::exchange(stopped_, true)) return;
  while (!waiting_->empty()) {
    const Task task = std::move(waiting_->begin()->second);
    waiting_->erase(waiting_->begin());
    task();
  }
}

}  // namespace bandana::audit
