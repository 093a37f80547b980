// The policies that a model may be configured with. Laws, sources and what propensities are good
// for: docs/design/policies.md.
#pragma once

#include <memory>

#include "common/ranking/policies/selection_rule.h"

namespace bandana {

// The best score, ties equally often [LCLS10, Algorithm 1, line 11]. This is the rule of a model
// without a policy.
std::shared_ptr<const SelectionRule> MakeUcbRule();

// With probability `uniform_share` in (0, 1] any arm, each as likely as another; else the best by
// UCB: p(a) = uniform_share / n + (1 - uniform_share) u(a), u the law of MakeUcbRule. The
// epsilon-greedy policy of [SB18, section 2.2] with UCB for the greedy arm.
std::shared_ptr<const SelectionRule> MakeUniformMix(double uniform_share);

// Thompson sampling [CL11, Algorithm 1; AG13, Algorithm 1 with v = 1]: the best arm of one joint
// draw of the posterior. Its probabilities are integrals without a closed form. So `draws` in
// [1, 1000] joint draws are made and one of them is picked, each as likely: given the draws,
// p(a) = uniform_share / n + (1 - uniform_share) (share of the draws in which a is best), which is
// exact. An arm's probability averaged over the draws is that of Thompson sampling. Where several
// arms are best in a draw they share it. `uniform_share` in [0, 1].
std::shared_ptr<const SelectionRule> MakeThompson(int draws, double uniform_share);

// p(a) proportional to exp(score(a) / temperature), the Boltzmann policy [SB18, equation 2.11].
// `temperature` > 0, reward units.
std::shared_ptr<const SelectionRule> MakeSoftmax(double temperature);

// Inverse gap weighting [AL99, section 3; FR20, Algorithm 1]: p(a) = 1 / (n + gamma (m* - m(a)))
// for every arm but the best, m its mean and m* the best one; the best has the rest. Arms that
// share the best mean share the rest and their own parts. `gamma` > 0, per reward unit.
std::shared_ptr<const SelectionRule> MakeInverseGap(double gamma);

// With probability `share` in (0, 1] one of the cold arms on offer, each as likely as another;
// else, and where none is cold, by `rule`: p(a) = share c(a) / (number of cold arms) + (1 - share)
// r(a).
std::shared_ptr<const SelectionRule> MakeColdShare(std::shared_ptr<const SelectionRule> rule,
                                                   double share);

}  // namespace bandana
