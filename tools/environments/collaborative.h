// Users with known parameters that influence each other: the simulations of [WZ20] and of
// [BanditLib].
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"

namespace bandana {

enum class CollaborativePreset {
  kSynthetic,  // N = 10, d = 10, 1000 arms, 10 on offer, noise 0.05, rewards clipped to [-0.5,
               // 0.5], Gaussian laws
  kBanditLib,  // N = 10, d = 16, 1000 arms, 10 on offer, noise 0.01, rewards clipped to [-1, 1],
               // BanditLib's laws
};

// Reward of arm x for user u: x . sum_j W_ju theta_j + N(0, noise^2), clipped; W_ij proportional to
// max(0, theta_i . theta_j), columns summing to one. Users come in turn. All vectors have length 1.
//
// Settings: users, dimension, arms, pool, noise, reward_abs_max; `features`: the law of theta and
// x,
//   gaussian:  standard normal, normalised;
//   banditlib: theta U(0,1)^d, x_j of variance (d - j)/d (j from 0), each masked by a
//   Bernoulli(1/2) mask of its group (5 user
//              and 5 article groups, contiguous) and normalised;
// `world`: the seed of theta, hence of W, which a server must be configured with; default 1
// whatever `seed` is, so that one written configuration serves every seed. Arms, order and noise
// follow `seed`.
absl::StatusOr<std::unique_ptr<Environment>> MakeCollaborative(CollaborativePreset preset,
                                                               Settings& settings,
                                                               std::uint64_t seed);

}  // namespace bandana
