// A subject of the audit: the form of one row of the registry.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/random/bit_source.h"

namespace bandana::audit {

// The guarantee under attack. delta is ignored by pure mechanisms.
struct Claim {
  Epsilon epsilon;
  Delta delta;
};

// Two neighbouring inputs, the most distant ones known.
enum class Neighbour { kP, kQ };

// One mechanism set up for one claim, on one pair of neighbours. Runs the mechanism once on a
// neighbour with fresh noise from `bits` and says whether the event, fixed when the attack was
// made, happened. Threads: safe, given a source each. Errors: UNAVAILABLE the source failed.
using Attack = std::function<absl::StatusOr<bool>(Neighbour, BitSource&)>;

enum class Standing {
  kProven,     // a proof note in docs/privacy
  kPublished,  // a paper's formula; may well break its claim
  kMutant,     // broken on purpose: an audit that does not catch it is worth nothing
};

// How a claim is read, and so which lower bound is the sharp one.
enum class ClaimKind {
  kPure,      // epsilon alone: EpsilonLower at delta 0
  kGaussian,  // (epsilon, delta) of a Gaussian release or stream: GaussianEpsilonLower as well
};

struct Subject {
  std::string_view name;
  Standing standing;
  ClaimKind claim;
  // The worst pair and the best event are known: the bound must come near the claim.
  bool tight;
  std::string_view description;  // one line: which code, which pair, which event
  // Errors: INVALID_ARGUMENT a claim that the mechanism does not take.
  absl::StatusOr<Attack> (*make)(const Claim& claim);
  std::string_view mutant_of = {};  // of a mutant: the proven mechanism that it breaks
};

}  // namespace bandana::audit
