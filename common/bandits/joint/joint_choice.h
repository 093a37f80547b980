// Which counter a joint-private model should run, by predicted error.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/joint/joint_model.h"

namespace bandana {

struct JointPrediction {
  CounterKind kind = CounterKind::kEpochs;
  double error = 0;  // see PredictJoint
};

// The expected error of each counter's posterior: the mean over rounds 1 .. horizon of
//   min(1, (sigma_r^2 n s + v) d / (n s |theta|)^2),   s = L^2 / d, v = v_beta + v_S |theta|^2,
// with n the events that the counter covers at the round and v its variances there: the squared
// error of the estimate over the squared length of theta, for contexts that spread evenly, and 1
// while nothing is known. The regret of a round is proportional to it. Kinds with options that
// JointCounter refuses are left out. Closed form at 100 rounds per factor of e; draws nothing.
// Errors: INVALID_ARGUMENT as JointModel::Create when no kind can run, or horizon 0.
absl::StatusOr<std::vector<JointPrediction>> PredictJoint(const JointModel::Options& options,
                                                          std::uint64_t horizon);

// The kind with the least error; of equal ones the first, epochs.
absl::StatusOr<CounterKind> ChooseJointCounter(const JointModel::Options& options,
                                               std::uint64_t horizon);

}  // namespace bandana
