// How much a score adds for what is not known yet.
#pragma once

#include <cstdint>

namespace bandana {

// How alpha, the factor of the posterior width in a score, follows from the state. t and A are
// those of the node's connected component: components are separate regressions, and an event of one
// leaves the posteriors of the others as they are.
//   kConstant    alpha
//   kLog         alpha sqrt(ln(t + 2)), t the events applied
//   kConfidence  sqrt(ln(det A_t / det A_0) + 2 ln(1 / failure_probability))
//                + theta_l2_max / sqrt(prior_variance), [WZ20] Lemma 2 without privacy noise; A is
//                the papers' dN x dN matrix (docs/notation.md)
struct ExplorationRule {
  enum class Kind { kConstant, kLog, kConfidence };
  Kind kind = Kind::kConstant;
  double alpha = 0.3;                 // kConstant, kLog; [0, 1e6]
  double failure_probability = 0.01;  // kConfidence; (0, 1)
  double theta_l2_max = 1;            // kConfidence; (0, 1e6]
};

// The events of a component so far: t, and ln(det A_t / det A_0).
struct ComponentCount {
  std::uint64_t events = 0;
  double log_det_ratio = 0;
};
double AlphaOf(const ExplorationRule& rule, double prior_variance, const ComponentCount& count);

}  // namespace bandana
