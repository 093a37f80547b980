// How the noise of a central model is bound to the data that it hides.
#pragma once

#include "common/base/sha256.h"
#include "common/mechanisms/counters/increment.h"
#include "common/random/keyed_stream.h"

namespace bandana {

// There is one binding, and this is it. It has virtual methods so that bandana-audit can break it,
// one at a time, and see that its replay notices (tools/audit/replay_faults.h), and can make draws
// that ignore their input (tools/audit/transcript/world.cc): nothing else derives from it, and no
// server is given another. Immutable. Threads: safe.
class NoiseBinding {
 public:
  virtual ~NoiseBinding() = default;

  // A stream's chain after an increment (ClippedIncrement::ChainAfter).
  virtual Sha256Digest Chain(const ClippedIncrement& increment, const Sha256Digest& before) const {
    return increment.ChainAfter(before);
  }
  // The chain of a stream that a checkpoint brought.
  virtual Sha256Digest ChainOfRestored(const Sha256Digest& stored) const { return stored; }
  // The input that an address names for data with this digest.
  virtual NoiseInput InputOf(const NoiseInput& data) const { return data; }
  // H, the log up to the entry that causes a release, as the address names it. Entries hold
  // rewards, so worlds of the transcript audit that differ in one get equal noise only without it.
  virtual Sha256Digest HistoryOf(const Sha256Digest& history) const { return history; }
  // The reward of an entry, before it is clipped. Another build of the server might read another.
  virtual double RewardOf(double reward) const { return reward; }
};

// Never null: `binding`, or the one that servers have. It lives until the program ends.
inline const NoiseBinding& BindingOr(const NoiseBinding* binding) {
  static const NoiseBinding the_one;
  return binding != nullptr ? *binding : the_one;
}

}  // namespace bandana
