// Counter streams that devices run: the newest release of each, and what they add up to.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/base/bytes.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/model/entries/decision.h"
#include "common/model/entries/records.h"
#include "common/model/entries/released.h"

namespace bandana {

struct LocalStream {
  std::uint64_t step = 0;      // newest received
  DecisionId last{};           // decision of that step; zero when its token did not open
  std::vector<double> moment;  // d, the release at `step`
};

// Not thread-safe.
class LocalStreams {
 public:
  using Streams = std::map<StreamId, LocalStream>;

  // The newest release of the record's stream, which is made when it is new.
  void Accept(const CounterRecord& record, int node, int dimension);
  // The newest step received of the stream; 0 when it is unknown.
  std::uint64_t StepOf(int node, const StreamId& id) const;
  // Ends every stream: its last release stands for good.
  void Close(const CounterDesign& design);

  // Nothing is left of the node's streams.
  void Forget(int node);

  // Sum over the streams of the node, those of closed epochs included.
  Released<NodeRelease> ReleaseOf(int node, const CounterDesign& design) const;
  // The streams of the open epoch, by node.
  const std::vector<Streams>& streams() const { return streams_; }

  void Encode(ByteWriter& out) const;
  absl::Status Decode(ByteReader& in, int dimension);

 private:
  NodeRelease SumOf(int node, const CounterDesign& design) const;

  std::vector<Streams> streams_;     // by node
  std::vector<NodeRelease> closed_;  // by node; empty moment = nothing
};

// Adds b to a, of d entries; either may be empty.
void AddRelease(const NodeRelease& b, int dimension, NodeRelease& a);

// Closed releases between state and bytes.
void PutReleases(ByteWriter& out, const std::vector<NodeRelease>& releases);
absl::Status TakeReleases(ByteReader& in, int dimension, std::vector<NodeRelease>& releases);

}  // namespace bandana
