// Counters that the server runs over raw data: one stream per node and epoch, or one over all
// nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/base/bytes.h"
#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/model/entries/released.h"
#include "common/model/state/keyed_noise.h"

namespace bandana {

// A stream's noise is a function of the key and of everything that the release depends on, the
// clipped increments of the stream themselves among it, as a running digest
// (docs/design/mechanisms.md#randomness): replicas and recoveries that read the same log release
// the same bits; logs that differ anywhere, and equal logs whose increments are computed
// differently, get independent noise. Raw sums exist only inside the encoders. Not thread-safe.
// Memory: the encoder's and decoder's a stream with events.
class CentralStreams {
 public:
  // One event: its increment enters the counter of the stream, the release its estimate. Errors:
  // FAILED_PRECONDITION steps_max is reached; UNAVAILABLE the keyed stream failed. Then the state
  // is as before.
  absl::Status Step(int stream, const ClippedIncrement& increment, const CounterDesign& design,
                    const NoiseOrigin& origin);
  // Steps that the stream has taken.
  std::uint64_t steps(int stream) const;
  // Ends every stream: its last estimate stands for good, its raw sums are erased.
  void Close();

  // Nothing is left of the stream, released or not: it must not be stepped again.
  void Forget(int stream);

  // The stream's estimate, those of closed epochs included.
  Released<NodeRelease> ReleaseOf(int stream, const CounterDesign& design) const;

  // The bytes hold raw sums: for this model's own checkpoints.
  void Encode(ByteWriter& out) const;
  // Checkpoints before version 6 have no chain: a stream's chain then begins at the digest of its
  // encoder's state. Errors: DATA_LOSS.
  absl::Status Decode(ByteReader& in, const CounterDesign& design,
                      const NoiseBinding* binding = nullptr);

 private:
  struct Stream {
    CounterEncoder encoder;
    CounterDecoder decoder;
    Sha256Digest chain{};  // over its increments: ClippedIncrement::ChainAfter
  };
  NodeRelease SumOf(int stream, int dimension) const;

  std::vector<std::optional<Stream>> streams_;  // of the open epoch
  std::vector<NodeRelease> closed_;             // by stream; empty moment = nothing
};

}  // namespace bandana
