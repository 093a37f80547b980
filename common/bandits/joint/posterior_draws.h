// Joint draws of the arms' rewards from the published posterior.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "common/random/real_samplers.h"
#include "common/ranking/posterior.h"
#include "common/ranking/served_posterior.h"

namespace bandana {

// Fills `out` with `draws` x n rewards, row-major, reward units: in each row the parameter of the
// user is drawn once, N(m_u, K_uu), and so is what each effect adds to the arms that have it
// (ServedPosterior::PartsOfArms). Effects that every arm shares are left out: they change no
// ranking. Post-processing of released values with randomness that knows no data. `scratch` is
// reused. Cost: d^3 / 6 + draws (d^2 / 2 + n d). Errors: UNAVAILABLE the sampler's source failed.
absl::Status DrawRewards(const ServedPosterior& posterior, const Whom& whom,
                         const ArmsOnOffer& arms, int draws, RealSampler& sampler,
                         NodePosterior& scratch, std::vector<double>& out);

}  // namespace bandana
