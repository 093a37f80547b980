// Learners that are models as a server hosts them.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/design/planner/planner.h"
#include "research/lab/recsys20/learner.h"

namespace bandana::lab {

// The mechanism that a model runs.
struct ServedMechanism {
  v1::Mechanism id = v1::MECHANISM_UNSPECIFIED;  // unspecified: the model is not private
  bool approximate = false;                      // takes a delta
  // The kind of its counter; unspecified: it has none, or takes the planner's.
  v1::CounterKind counter = v1::COUNTER_KIND_UNSPECIFIED;
  // All of the reward range, where others enforce the share of it that costs them least.
  bool whole_range = false;
  bool pooled = false;  // one stream takes the events of all users
};

// The request to the planner for a run of these options.
absl::StatusOr<PlanRequest> PlanRequestOf(const World& world, const LearnerOptions& options);

// The mechanism of a label of the catalogue: of `counter` and `central` the counter that the
// planner expects most of, of `auto` and `proven` what a server with AUTO chooses. Errors:
// INVALID_ARGUMENT none fits.
absl::StatusOr<ServedMechanism> MechanismOf(std::string_view label, const World& world,
                                            const LearnerOptions& options);

// The rewards that a private model of these options tells apart; others are clipped to it.
RewardRange EnforcedRange(const World& world, const LearnerOptions& options);

// The configuration that an operator would write for this run: priors and noise of the world, its
// graph, the range of rewards that suits the mechanism, streams for the events of the run and no
// more.
v1::ModelConfig ConfigOf(const World& world, const LearnerOptions& options,
                         const ServedMechanism& mechanism);

// `world` is not needed any more afterwards. Errors: INVALID_ARGUMENT a model that no server hosts.
absl::StatusOr<std::unique_ptr<Learner>> MakeServed(const World& world,
                                                    const LearnerOptions& options,
                                                    const ServedMechanism& mechanism);

}  // namespace bandana::lab
