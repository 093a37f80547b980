// The open episode of a sparse model, summed by the server over raw data, and what the episodes
// before it have released.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "common/bandits/sparse/fliphat.h"
#include "common/base/bytes.h"
#include "common/model/entries/released.h"
#include "common/model/state/central_streams.h"

namespace bandana {

// An episode's noise is a function of the key and of everything that its release depends on: the
// parameters, what the episode started from, its number in its epoch, the log up to its last event,
// and the episode's integer sums themselves. Replicas and recoveries that read the same log release
// the same bits; whatever differs gets independent noise. Raw sums exist only inside the state,
// which has no accessor; no row is kept. Not thread-safe. Memory: d sums once there was an event.
class SparseStream {
 public:
  // One event: its row enters the open episode, and the episode's last one makes it release.
  // x: d numbers. Returns whether it has. Errors: FAILED_PRECONDITION the last episode of an epoch
  // is over (Fliphat::kRowsMax events); UNAVAILABLE the keyed stream failed. Then the state is as
  // before.
  absl::StatusOr<bool> Step(std::span<const double> x, double reward, const Fliphat& model,
                            const NoiseOrigin& origin);
  // Ends the open episode without a release: its sums are erased, the estimate stands, and the next
  // event begins an episode of length 1.
  void Close();

  // Nothing before the first release.
  Released<SparseEstimate> estimate() const;
  // Episodes of the open epoch that are over, and events in the open one: public.
  std::uint64_t episodes() const { return state_ ? state_->episode : 0; }
  std::uint64_t rows() const { return state_ ? state_->sums.rows() : 0; }

  // The bytes hold raw sums: for this model's own checkpoints.
  void Encode(ByteWriter& out) const;
  // Errors: DATA_LOSS no state of this model.
  absl::Status Decode(ByteReader& in, const Fliphat& model);

 private:
  std::optional<FliphatState> state_;  // from the first event on
};

}  // namespace bandana
