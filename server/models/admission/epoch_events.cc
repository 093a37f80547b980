#include "server/models/admission/epoch_events.h"

#include <cstddef>

namespace bandana::server {

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

}  // namespace bandana::server
