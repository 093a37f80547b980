// Where the devices' counter streams stand, as the admission of their reports needs it. The state
// knows the same of each, and what it released (LocalStreams).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/base/sha256.h"
#include "common/model/entries/records.h"
#include "common/model/state/local_streams.h"

namespace bandana {

struct StreamPlace {
  int node = 0;
  std::uint64_t step = 0;  // newest received
  DecisionId last{};       // decision of that step; zero = its token did not open
  Sha256Digest moment{};   // of the bytes released at that step
};

// A change stands with Commit or falls with Rollback. Not thread-safe. Memory: some 150 bytes per
// stream.
class StreamTable {
 public:
  StreamTable() = default;
  // Those of a state.
  explicit StreamTable(const LocalStreams& streams);

  // nullptr when unknown.
  const StreamPlace* Find(const StreamId& id) const;
  std::size_t size() const { return places_.size(); }
  // Most steps of one stream, as of the last Commit.
  std::uint64_t longest() const { return longest_; }
  // Streams of the node.
  std::uint64_t CountOf(int node) const;

  // The record brings its stream forward, which is the node's.
  void Accept(const CounterRecord& record, int node);
  // Nothing is left of the nodes' streams.
  void Forget(const absl::flat_hash_set<int>& nodes);
  // A new epoch has none.
  void Clear();

  void Commit();
  void Rollback();

 private:
  using Places = absl::flat_hash_map<StreamId, StreamPlace>;
  struct Change {
    StreamId id;
    std::optional<StreamPlace> before;
  };
  // Nothing: the stream is unknown from now on.
  void Set(const StreamId& id, const std::optional<StreamPlace>& place);
  void CountAll();

  Places places_;
  absl::flat_hash_map<int, std::uint64_t> counts_;  // by node
  std::uint64_t longest_ = 0;
  bool fewer_ = false;  // since the last Commit or Rollback
  std::vector<Change> changes_;
  std::vector<std::pair<Places, std::vector<Change>>> cleared_;
};

}  // namespace bandana
