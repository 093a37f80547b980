// How a linear predictor becomes an expected reward, and how an event of a curved link is
// straightened.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

// E[r | x] = mu(x . theta).
enum class Link {
  kLinear,    // mu(z) = z
  kLogistic,  // mu(z) = 1 / (1 + e^-z): rewards in [0, 1]
};

// Errors: INVALID_ARGUMENT lists the names, `linear` and `logistic`.
absl::StatusOr<Link> ParseLink(std::string_view name);
std::string_view LinkName(Link link);

// mu(z); for kLogistic within [0, 1] and exact to rounding for every z, infinite ones included.
double LinkMean(Link link, double z);
// mu'(z), largest at z = 0; 0 where the logistic curve is flat to rounding.
double LinkSlope(Link link, double z);
// (mu(z) - mu(0)) / (mu'(0) z), the chord's slope over the tangent's at 0: in [0, 1], 1 at z = 0,
// falling with |z|; 2 / |z| where the logistic curve is flat. NaN gives 0.
double ChordShare(Link link, double z);

// An event (x, r) of a generalized linear model as one of a linear model:
//   features = w x,   reward = r - mu(0),   w = ChordShare(x . theta-hat).
// When theta-hat = theta, E[reward features] = mu'(0) features features' theta. So regression of
// the rewards on the features estimates mu'(0) theta, without bias once theta-hat is right, and
// saturated arms count less. It is a function of the event and of a public estimate alone, so a
// mechanism protects it as it protects (x, r).
struct StraightEvent {
  std::vector<double> features;  // no longer than x
  double reward = 0;
};
// `predictor` is x . theta-hat, where the NaN of a bad estimate gives features of 0.
StraightEvent Straighten(Link link, std::vector<double> x, double reward, double predictor);
// The two halves, for a caller that has the features before the reward.
std::vector<double> StraightFeatures(Link link, std::vector<double> x, double predictor);
double StraightReward(Link link, double reward);

}  // namespace bandana
