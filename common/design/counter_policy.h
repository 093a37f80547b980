// From a model's public policy to the counter that device and server run, or read, under it.
#pragma once

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/joint/joint_counter.h"

namespace bandana {

// One counter over all users (SHAPED_COUNTER): a refresh is dense in nodes x d rows, about a second
// and 32 MiB at 1024; the shape is found for at most 128 users.
inline constexpr int kShapedNodesMax = 128;
inline constexpr int kShapedRowsMax = 1024;

// mid = (reward_min + reward_max) / 2. A counter of rewards sums x (r - mid): the reader adds mid
// sum x back, which is public.
double RewardCentre(const PublicSpec& spec);

// The counter of one stream of events of one node, mechanism COUNTER. With B the width of the
// reward range and L the bound of features, |x (r - mid)|_2 <= L B / 2, and replacing the reward of
// one event (x is public) moves its increment by at most L B: twice the norm bound, which is what
// the counter charges. The whole stream up to steps_max costs the largest rho whose tight
// conversion is within (epsilon, delta). Mode JOINT: MakeJointCounter's.
// Deterministic: device and server get the same digest. Errors: INVALID_ARGUMENT the model has no
// counter or one over all users, or its parameters have no design (CounterDesign::Create).
absl::StatusOr<CounterDesign> MakeCounterDesign(const PublicSpec& spec);
// Also for SHAPED_COUNTER and POOLED_COUNTER: one stream of nodes x d coordinates, the same bounds.
absl::StatusOr<CounterDesign> MakeCounterDesign(const ModelSpec& spec);

// Mode JOINT: the counter of a node's (x x', r x). Errors: INVALID_ARGUMENT as JointCounter.
absl::StatusOr<JointCounter> MakeJointCounter(const PublicSpec& spec);

// The largest |reward| that the range allows.
double RewardAbsMax(const PublicSpec& spec);

}  // namespace bandana
