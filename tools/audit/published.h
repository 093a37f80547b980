// Attacks on the papers' own noise.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"
#include "tools/published/published_noise.h"

namespace bandana::audit {

// Numbers (16 for coordinate noise, 2 for the L2 norm's), all apart, an L2 sensitivity in total.
// [WZ20] claims epsilon for it.
absl::StatusOr<Attack> AttackPublishedNoise(const Claim& claim, PublishedNoiseKind kind);

// y = f - sign ln(u) / epsilon in double, u on the grid of 2^-53, f = 0 or 1. Not every double can
// be reached from every f: the event is that y can be reached from P's f = 0 [M12].
absl::StatusOr<Attack> AttackPorousLaplace(const Claim& claim);

}  // namespace bandana::audit
