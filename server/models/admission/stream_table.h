// Where the devices' counter streams stand, as the admission of their reports needs it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/sha256.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/model/entries/records.h"
#include "server/log/log_writer.h"

namespace bandana::server {

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
  // nullptr when unknown.
  const StreamPlace* Find(const StreamId& id) const;
  std::size_t size() const { return places_.size(); }
  // Most steps of one stream, as of the last Commit.
  std::uint64_t longest() const { return longest_; }
  // Streams of the node.
  std::uint64_t CountOf(int node) const;

  void Set(const StreamId& id, const StreamPlace& place);
  // A new epoch has none.
  void Clear();

  void Commit();
  void Rollback();

 private:
  using Places = absl::flat_hash_map<StreamId, StreamPlace>;
  struct Change {
    StreamId id;
    bool known = false;
    StreamPlace before;
  };

  Places places_;
  absl::flat_hash_map<int, std::uint64_t> counts_;  // by node
  std::uint64_t longest_ = 0;
  std::vector<Change> changes_;
  std::vector<std::pair<Places, std::vector<Change>>> cleared_;
};

// The newest step that a device's release at `step` covers. `counter`: of its stream; nullptr: each
// step releases.
std::uint64_t CoveredAt(const CounterDesign* counter, std::uint64_t step);

// Where the report stands in its stream: kAppend when it brings it forward.
Admission PlaceOf(const CounterRecord& record, const StreamTable& streams,
                  const CounterDesign* counter);

}  // namespace bandana::server
