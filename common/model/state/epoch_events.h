// How many events of each node count against limits, over all epochs and in the present one. Both
// admission and the state count by it: admission as it takes events, the state as it is restored
// and where an entry writes a count down.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bandana {

// A change stands with Commit or falls with Rollback. Not thread-safe.
class EpochEvents {
 public:
  EpochEvents() = default;
  // For each node: its events, and how many there were when the epoch began.
  EpochEvents(std::vector<std::uint64_t> events, std::vector<std::uint64_t> at_epoch)
      : events_(std::move(events)), at_epoch_(std::move(at_epoch)) {}

  // One entry per node, over all epochs.
  const std::vector<std::uint64_t>& all() const { return events_; }
  std::uint64_t InEpoch(int node) const;
  std::uint64_t InEpoch() const;  // of all nodes

  void Add(int node, std::uint64_t events);
  void OpenEpoch();
  // Since the last Commit or Rollback: node and events of each Add, and whether an epoch began.
  const std::vector<std::pair<int, std::uint64_t>>& added() const { return added_; }
  bool opened() const { return former_.has_value(); }
  void Commit();
  void Rollback();

 private:
  std::vector<std::uint64_t> events_;
  std::vector<std::uint64_t> at_epoch_;
  std::vector<std::pair<int, std::uint64_t>> added_;
  std::optional<std::vector<std::uint64_t>> former_;  // at_epoch_ before the first of opened()
};

struct ModelState;

// The events of a state. `learnt`: by node, those that the learner has. A decision whose window is
// open counts from the moment on that it was made, and events of users who were deleted in the
// epoch count until it ends.
EpochEvents EpochEventsOf(const ModelState& state, std::vector<std::uint64_t> learnt);

}  // namespace bandana
