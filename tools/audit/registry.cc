#include "tools/audit/registry.h"

#include <algorithm>
#include <numbers>
#include <string>

#include "common/base/status.h"
#include "tools/audit/context_report.h"
#include "tools/audit/directions.h"
#include "tools/audit/published.h"
#include "tools/audit/randomizers.h"
#include "tools/audit/scalar_loss.h"
#include "tools/audit/sparse.h"
#include "tools/audit/straight.h"
#include "tools/audit/streams.h"
#include "tools/audit/vectors.h"

namespace bandana::audit {
namespace {

using enum Standing;
using enum ClaimKind;

constexpr Subject kSubjects[] = {
    {"randomized-response", kProven, kPure, true,
     "reward randomizer, binary rewards 1 and 0; output 1",
     [](const Claim& c) { return AttackRandomizer(c, RandomizerKind::kRandomizedResponse); }},
    {"stochastic-rounding", kProven, kPure, true,
     "reward randomizer, one bit, rewards at both ends of the range; output 1",
     [](const Claim& c) { return AttackRandomizer(c, RandomizerKind::kStochasticRounding); }},
    {"hybrid-randomizer", kProven, kPure, true,
     "reward randomizer, window and one bit, rewards at both ends; outputs of the largest ratio",
     [](const Claim& c) { return AttackRandomizer(c, RandomizerKind::kHybrid); }},
    {"centred-randomizer", kProven, kPure, true,
     "the same in a window of 1/64 of the range, rewards on both sides of it",
     AttackCentredRandomizer},
    {"laplace", kProven, kPure, true,
     "discrete Laplace, numbers a sensitivity apart; beyond the centre",
     [](const Claim& c) { return AttackLaplace(c, 1, false); }},
    {"joint-laplace", kProven, kPure, false,
     "discrete Laplace on phi(x, r), d = 2, cos(x, x') = -1/2; every coordinate beyond P's",
     [](const Claim& c) { return AttackJointLaplace(c, false); }},
    {"gaussian", kProven, kGaussian, true,
     "discrete Gaussian, numbers a sensitivity apart; beyond the midpoint",
     [](const Claim& c) { return AttackGaussian(c, 1); }},
    {"scalar-loss", kProven, kGaussian, true,
     "discrete Gaussian on one loss, both far outside the range; beyond the midpoint",
     [](const Claim& c) { return AttackScalarLoss(c, 1); }},
    {"scalar-difference", kProven, kGaussian, true,
     "discrete Gaussian on a difference of two losses, steeper than allowed; beyond the midpoint",
     AttackScalarDifference},
    {"joint-gaussian", kProven, kGaussian, true,
     "discrete Gaussian on phi(x, r), d = 4, cos(x, x') = -1/2; projection beyond the midpoint",
     [](const Claim& c) { return AttackJointGaussian(c, {}); }},
    {"privunit", kProven, kPure, true,
     "directions for phi(x, r), d = 2, cos(x, x') = -1/2; inside P's cap and outside Q's",
     AttackPrivUnit},
    {"context-report", kProven, kPure, true,
     "privunit through the SDK's store: the bytes that a device sends; inside P's cap, outside Q's",
     AttackContextReport},
    {"straight-privunit", kProven, kPure, false,
     "directions for straightened logistic events, d = 2, one arm saturated; inside P's cap, off Q",
     AttackStraightPrivUnit},
    {"tree", kProven, kGaussian, true, "tree counter, 16 steps, first event reversed; all releases",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kTree); }},
    {"honaker", kProven, kGaussian, false,
     "tree counter, 16 steps, first event reversed; Honaker's last estimate",
     [](const Claim& c) { return AttackLastEstimate(c, CounterKind::kHonaker); }},
    {"toeplitz", kProven, kGaussian, true,
     "toeplitz counter, 16 steps, first event reversed; all releases",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kToeplitz); }},
    {"blt", kProven, kGaussian, true, "blt counter, 16 steps, first event reversed; all releases",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kBlt); }},
    {"epochs", kProven, kGaussian, true,
     "epochs counter, 128 steps, first event reversed; all releases",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kEpochs); }},
    {"shaped-blt", kProven, kGaussian, true,
     "blt counter over 3 users with keyed noise, 16 steps, first event reversed; all releases",
     [](const Claim& c) { return AttackShapedCounter(c); }},
    {"hybrid-counter", kProven, kGaussian, true,
     "hybrid counter, 15 steps, eighth event reversed; all releases",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kHybrid); }},
    {"joint-epochs", kProven, kGaussian, true,
     "epochs counter on phi(x, r), d = 3, 128 events, first at cos(x, x') = -1/2; all releases",
     [](const Claim& c) { return AttackJointCounter(c, CounterKind::kEpochs, 1); }},
    {"joint-blt", kProven, kGaussian, true,
     "blt counter on phi(x, r), d = 3, 16 events, first at cos(x, x') = -1/2; all releases",
     [](const Claim& c) { return AttackJointCounter(c, CounterKind::kBlt, 1); }},
    {"sparse-release", kProven, kGaussian, false,
     "[FLIP] values and count of one row at the clip and beyond it; beyond the midpoint",
     [](const Claim& c) { return AttackSparseRelease(c, 1); }},
    {"sparse-selection", kProven, kPure, false,
     "exponential mechanism, one pick of 20, one score up and all others down; that one",
     [](const Claim& c) { return AttackSelection(c, 1); }},

    {"wz20-laplace", kPublished, kPure, false,
     "[WZ20]: Laplace coordinates scaled by the L2 sensitivity, 16 numbers; tail of the projection",
     [](const Claim& c) {
       return AttackPublishedNoise(c, PublishedNoiseKind::kCoordinateLaplace);
     }},
    {"wz20-l2-norm", kPublished, kPure, false,
     "[WZ20] read soundly: density exp(-eps |eta| / Delta), 2 numbers; tail of the projection",
     [](const Claim& c) { return AttackPublishedNoise(c, PublishedNoiseKind::kL2Norm); }},

    // In the order of what they are mutants of.
    {"mutant-whole-percent", kMutant, kPure, false,
     "randomized-response, its probability rounded up to a whole percent", AttackWholePercent,
     "randomized-response"},
    {"mutant-unclipped-bit", kMutant, kPure, false,
     "stochastic-rounding of rewards a quarter beyond the range, not clipped", AttackUnclippedBit,
     "stochastic-rounding"},
    {"mutant-window-share", kMutant, kPure, false,
     "hybrid-randomizer whose window is 15 % rarer for the smallest reward", AttackWindowShare,
     "hybrid-randomizer"},
    {"mutant-window-of-reward", kMutant, kPure, false,
     "centred-randomizer that leaves a window in which the reward does not lie",
     AttackWindowOfReward, "centred-randomizer"},
    {"mutant-l2-laplace", kMutant, kPure, false,
     "laplace on 16 numbers, scaled by their L2 sensitivity",
     [](const Claim& c) { return AttackLaplace(c, 16, true); }, "laplace"},
    {"mutant-porous-laplace", kMutant, kPure, false,
     "Laplace noise -ln(u)/epsilon in double; outputs that only one neighbour can give",
     AttackPorousLaplace, "laplace"},
    {"mutant-joint-l2-laplace", kMutant, kPure, false,
     "joint-laplace scaled by the L2 sensitivity of phi",
     [](const Claim& c) { return AttackJointLaplace(c, true); }, "joint-laplace"},
    {"mutant-sigma-0.95", kMutant, kGaussian, false, "gaussian with 95 % of its deviation",
     [](const Claim& c) { return AttackGaussian(c, 0.95); }, "gaussian"},
    {"mutant-redrawn-loss", kMutant, kGaussian, false,
     "scalar-loss whose retry draws again: two releases of one loss",
     [](const Claim& c) { return AttackScalarLoss(c, 2); }, "scalar-loss"},
    {"mutant-half-width", kMutant, kGaussian, false,
     "a difference of two losses calibrated for G |x1 - x2|, half its width",
     [](const Claim& c) { return AttackGaussian(c, 0.5); }, "scalar-difference"},
    {"mutant-missing-sqrt-2", kMutant, kGaussian, false,
     "joint-gaussian calibrated for 1.5 instead of 1.5 sqrt(2)",
     [](const Claim& c) { return AttackJointGaussian(c, {.declared = 1 / std::numbers::sqrt2}); },
     "joint-gaussian"},
    {"mutant-no-clipping", kMutant, kGaussian, false,
     "joint-gaussian on features of norm 2, not clipped to 1",
     [](const Claim& c) { return AttackJointGaussian(c, {.features_norm = 2}); }, "joint-gaussian"},
    {"mutant-timed-direction", kMutant, kPure, false,
     "privunit that returns on its coin before a direction is computed; seed and time are seen",
     AttackTimedDirection, "privunit"},
    {"mutant-redrawn-report", kMutant, kPure, false,
     "context-report whose retry draws again: two reports of one event", AttackRedrawnReport,
     "context-report"},
    {"mutant-unlifted", kMutant, kPure, false,
     "straight-privunit whose shorter events are not lifted to the sphere: their cap is smaller",
     AttackUnlifted, "straight-privunit"},
    {"mutant-fresh-node-noise", kMutant, kGaussian, false,
     "tree counter that draws a node's noise anew for every estimate", AttackFreshNoiseTree,
     "tree"},
    {"mutant-other-tree", kMutant, kGaussian, false,
     "honaker calibrated for a tree of branching 4, 3 levels of 5; all releases",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kHonaker, Column::kOtherTree); },
     "honaker"},
    {"mutant-table-off-by-one", kMutant, kGaussian, false,
     "toeplitz calibrated for coefficients 1 .. 16 in place of 0 .. 15",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kToeplitz, Column::kOffByOne); },
     "toeplitz"},
    {"mutant-short-column", kMutant, kGaussian, false,
     "blt calibrated for 2 steps that goes on for 16: S without the cap",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kBlt, Column::kCutShort); }, "blt"},
    {"mutant-missing-first-column", kMutant, kGaussian, false,
     "blt calibrated for a column without its first entry",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kBlt, Column::kWithoutFirst); },
     "blt"},
    {"mutant-later-epochs", kMutant, kGaussian, false,
     "epochs calibrated for an event's own epoch, without what stays of it in later ones",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kEpochs, Column::kFirstAlone); },
     "epochs"},
    {"mutant-address-without-step", kMutant, kPure, false,
     "shaped-blt with the same noise at every step; differences of releases",
     [](const Claim& c) { return AttackShapedCounter(c, StepAddress::kNone); }, "shaped-blt"},
    {"mutant-unsplit-hybrid", kMutant, kGaussian, false,
     "hybrid-counter with the whole budget in either half",
     [](const Claim& c) { return AttackCounter(c, CounterKind::kHybrid, Column::kUnsplit); },
     "hybrid-counter"},
    {"mutant-joint-norm", kMutant, kGaussian, false,
     "joint-epochs calibrated for sqrt(2), the norm of phi, instead of 1.5 sqrt(2)",
     [](const Claim& c) { return AttackJointCounter(c, CounterKind::kEpochs, 2.0 / 3); },
     "joint-epochs"},
    {"mutant-forgotten-reward", kMutant, kGaussian, false,
     "joint-blt calibrated for x x' alone, sqrt(2)",
     [](const Claim& c) { return AttackJointCounter(c, CounterKind::kBlt, 2.0 / 3); }, "joint-blt"},
    {"mutant-published-peeling", kMutant, kPure, false,
     "[FLIP] peeled values with the printed scale, 10 numbers at their worst; tail",
     AttackPublishedPeeling, "sparse-release"},
    {"mutant-sparse-one-row", kMutant, kGaussian, false,
     "sparse-release calibrated for a row that comes or goes, half the step of a replaced one",
     [](const Claim& c) { return AttackSparseRelease(c, 0.5); }, "sparse-release"},
    {"mutant-selection-half", kMutant, kPure, false,
     "sparse-selection calibrated for scores that move half as far",
     [](const Claim& c) { return AttackSelection(c, 0.5); }, "sparse-selection"},
};

}  // namespace

std::span<const Subject> Subjects() { return kSubjects; }

absl::StatusOr<Subject> FindSubject(std::string_view name) {
  std::string names;
  for (const Subject& subject : kSubjects) {
    if (subject.name == name) return subject;
    absl::StrAppend(&names, names.empty() ? "" : ", ", ToAbsl(subject.name));
  }
  return NotFound("no mechanism `", ToAbsl(name), "`; there are ", names);
}

}  // namespace bandana::audit
