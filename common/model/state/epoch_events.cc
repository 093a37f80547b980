#include "common/model/state/epoch_events.h"

#include <cstddef>

#include "common/model/state/model_state.h"

namespace bandana {

std::uint64_t EpochEvents::InEpoch(int node) const {
  const auto i = static_cast<std::size_t>(node);
  if (i >= events_.size()) return 0;
  const std::uint64_t before = i < at_epoch_.size() ? at_epoch_[i] : 0;
  return events_[i] > before ? events_[i] - before : 0;  // less: of a user who was deleted
}

std::uint64_t EpochEvents::InEpoch() const {
  std::uint64_t sum = 0;
  for (std::size_t node = 0; node < events_.size(); ++node) sum += InEpoch(static_cast<int>(node));
  return sum;
}

void EpochEvents::Add(int node, std::uint64_t events) {
  const auto i = static_cast<std::size_t>(node);
  if (i >= events_.size()) events_.resize(i + 1);
  events_[i] += events;
  added_.emplace_back(node, events);
}

void EpochEvents::OpenEpoch() {
  if (!former_) former_ = std::move(at_epoch_);
  at_epoch_ = events_;
}

void EpochEvents::Commit() {
  added_.clear();
  former_.reset();
}

void EpochEvents::Rollback() {
  for (const auto& [node, events] : added_) events_[node] -= events;
  if (former_) at_epoch_ = *std::move(former_);
  Commit();
}

EpochEvents EpochEventsOf(const ModelState& state, std::vector<std::uint64_t> learnt) {
  const auto add = [&](int node, std::uint64_t events) {
    if (node >= 0 && static_cast<std::size_t>(node) < learnt.size()) learnt[node] += events;
  };
  for (const auto& [key, window] : state.windows.all()) add(window.node, 1);
  for (const auto& [hash, deleted] : state.deleted.all()) add(deleted.node, deleted.events);
  return EpochEvents(std::move(learnt), state.events_at_epoch);
}

}  // namespace bandana
