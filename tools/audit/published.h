// Attacks on the papers' own noise.
#pragma once

#include "absl/status/statusor.h"
#include "tools/audit/subject.h"
#include "tools/published/published_noise.h"

namespace bandana::audit {

// Numbers (16 for coordinate noise, 2 for the L2 norm's), all apart, an L2 sensitivity in total.
// [WZ20] claims epsilon for it.
absl::StatusOr<Attack> AttackPublishedNoise(const Claim& claim, PublishedNoiseKind kind);

}  // namespace bandana::audit
