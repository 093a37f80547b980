// Central counters: docs/design/mechanisms.md#noise-shaped-across-users.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tools/lab/recsys20/learner.h"

namespace bandana::lab {

// One counter over all users' events releases (Q^1/2 (x) I) beta, Q from ShapeNoise on each
// component of P; the posterior follows every kShapedRefresh events. (epsilon, delta) by zCDP.
// `world` must outlive the learner. Errors: INVALID_ARGUMENT options that the counter or the model
// refuses.
absl::StatusOr<std::unique_ptr<Learner>> MakeShaped(const World& world,
                                                    const LearnerOptions& options);
inline constexpr int kShapedRefresh = 20;

}  // namespace bandana::lab
