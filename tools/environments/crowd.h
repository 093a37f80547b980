// Very many users in nested groups, popular arms, users and arms that arrive.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"

namespace bandana {

// Reward of arm a with features x_a, |x_a| = 1, for user u, clipped to [-1/2, 1/2]:
//   x_a . (theta + sum over levels l of theta_l,group + theta_u) + b_a + N(0, noise^2).
// Each theta has independent normal entries, b_a is normal. Nothing is stored: 10^7 users cost what
// one does. Arms go by inline features and ids.
//
// Settings (default): `users` (100000), `dimension` (10), `arms` (10000), `pool` (10) distinct arms
// per decision, `levels` (8) of nested groups, the smallest of `group_users` (50) users in a row,
// each level above twice as large. Standard deviations of the parts of the reward, in reward units:
// `shared` (0.1), `groups` (0.15, of all levels together, in equal parts), `own` (0.05),
// `popularity` (0.05, of b_a), `noise` (0.1). `activity` (1) and `offers` (0): exponents of Zipf's
// laws by which users come and arms are offered; the ranks of users are shuffled, so that every
// group has active ones. `start` (1): share of users, and of arms, that are there from the
// beginning; the others arrive one after another, in random order, until `arrival_rounds` (1e6).
// `friends` (10): friendships that each user makes, half of them inside the smallest group, half of
// the others one level above and so on, the last with anybody; `world` (1) is their seed. All else
// follows `seed`.
absl::StatusOr<std::unique_ptr<Environment>> MakeCrowd(Settings& settings, std::uint64_t seed);

}  // namespace bandana
