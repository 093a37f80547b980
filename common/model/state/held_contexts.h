// Contexts of events that wait for the release of their rewards: S and the moment of a node may
// hold an event only together.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "common/bandits/model.h"
#include "common/base/bytes.h"
#include "common/model/entries/records.h"

namespace bandana {

// A counter that releases at the ends of epochs only (CounterDesign::Covered) has events in its
// open epoch. Contexts and mid are public: nothing here depends on a reward.
// Not thread-safe. Memory: d (d + 3) / 2 doubles per stream with an open epoch.
class HeldContexts {
 public:
  using Key = std::pair<int, StreamId>;  // node, stream of a device or zero for the server's own

  // One event with context x (d doubles, not aligned): S += x x', moment += mid x.
  void Hold(const Key& key, std::string_view features, double mid);
  // Takes what the stream held; it holds nothing more.
  std::optional<NodeStatistics> Take(const Key& key);
  // Takes what all streams held, which hold nothing more; moves it to `join` in the order of the
  // keys.
  template <typename Join>
  void TakeAll(const Join& join) {
    for (const auto& [key, contexts] : held_) join(key.first, contexts);
    held_.clear();
  }
  // Drops what all streams of the node held.
  void Forget(int node) {
    std::erase_if(held_, [node](const auto& held) { return held.first.first == node; });
  }
  // The streams have ended: their open epochs are never released.
  void Clear() { held_.clear(); }

  void Encode(ByteWriter& out) const;
  // Errors: DATA_LOSS.
  absl::Status Decode(ByteReader& in, int dimension);

 private:
  std::map<Key, NodeStatistics> held_;
};

}  // namespace bandana
