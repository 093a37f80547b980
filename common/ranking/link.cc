#include "common/ranking/link.h"

#include <cmath>
#include <utility>

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<Link> ParseLink(std::string_view name) {
  if (name == "linear") return Link::kLinear;
  if (name == "logistic") return Link::kLogistic;
  return InvalidArgument("link must be linear or logistic, got `", ToAbsl(name), "`");
}

std::string_view LinkName(Link link) { return link == Link::kLinear ? "linear" : "logistic"; }

double LinkMean(Link link, double z) {
  if (link == Link::kLinear) return z;
  // e^-|z| never overflows.
  const double e = std::exp(-std::abs(z));
  return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double LinkSlope(Link link, double z) {
  if (link == Link::kLinear) return 1;
  const double e = std::exp(-std::abs(z));
  return e / ((1 + e) * (1 + e));
}

// PROOF: generalized_linear begin
double ChordShare(Link link, double z) {
  if (std::isnan(z)) return 0;
  if (link == Link::kLinear) return 1;
  const double half = std::abs(z) / 2;
  if (half < 1e-4) return 1 - half * half / 3;  // tanh(h) / h up to h^4
  return std::tanh(half) / half;
}

std::vector<double> StraightFeatures(Link link, std::vector<double> x, double predictor) {
  const double share = ChordShare(link, predictor);
  for (double& value : x) value *= share;
  return x;
}

double StraightReward(Link link, double reward) { return reward - LinkMean(link, 0); }

StraightEvent Straighten(Link link, std::vector<double> x, double reward, double predictor) {
  return {StraightFeatures(link, std::move(x), predictor), StraightReward(link, reward)};
}
// PROOF: generalized_linear end

}  // namespace bandana
