// Learners on the served model: without privacy, behind the reward randomizer, behind counters.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/counter_kind.h"
#include "common/mechanisms/reward_randomizer.h"
#include "tools/lab/recsys20/learner.h"

namespace bandana::lab {

// The rewards that a private model of these options tells apart; others are clipped to it.
RewardRange EnforcedRange(const World& world, const LearnerOptions& options);

// `world` must outlive the learner in all of these. Errors: INVALID_ARGUMENT options that the
// mechanism or the model refuses.

// The model on raw rewards.
absl::StatusOr<std::unique_ptr<Learner>> MakeNonPrivate(const World& world,
                                                        const LearnerOptions& options);

// Every reward randomized once, pure epsilon: docs/design/mechanisms.md#reward-randomizer.
absl::StatusOr<std::unique_ptr<Learner>> MakeRandomized(const World& world,
                                                        const LearnerOptions& options);

// As MakeRandomized, of the residual: the reward less the mean that the posterior gave the arm, in
// a range of a few predictive standard deviations. Both are functions of earlier reports and public
// features, so every report is epsilon-private whatever came before, and the noise shrinks with
// what is left to learn. Events are weighted by their own noise.
absl::StatusOr<std::unique_ptr<Learner>> MakeCentred(const World& world,
                                                     const LearnerOptions& options);

// Every user's own cumulative moment through a counter, (epsilon, delta) by zCDP:
// docs/design/mechanisms.md#structured-counter. Run by the server on raw rewards it is a central
// mechanism of the same guarantee.
absl::StatusOr<std::unique_ptr<Learner>> MakeCounted(const World& world,
                                                     const LearnerOptions& options,
                                                     CounterKind kind);

}  // namespace bandana::lab
