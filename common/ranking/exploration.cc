#include "common/ranking/exploration.h"

#include <cmath>

namespace bandana {

double AlphaOf(const ExplorationRule& rule, double prior_variance, const ComponentCount& count) {
  switch (rule.kind) {
    case ExplorationRule::Kind::kConstant:
      return rule.alpha;
    case ExplorationRule::Kind::kLog:
      return rule.alpha * std::sqrt(std::log(static_cast<double>(count.events) + 2));
    case ExplorationRule::Kind::kConfidence:
      break;
  }
  // [WZ20] Lemma 2 without privacy noise, divided by sigma_r as K is in units of the posterior.
  return std::sqrt(count.log_det_ratio - 2 * std::log(rule.failure_probability)) +
         rule.theta_l2_max / std::sqrt(prior_variance);
}

}  // namespace bandana
