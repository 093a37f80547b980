#include "tools/audit/streams.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/accounting/gaussian.h"
#include "common/bandits/noise_shape.h"
#include "common/base/status.h"
#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/mechanisms/joint/joint_counter.h"
#include "common/mechanisms/statistics_chain.h"
#include "common/random/keyed_stream.h"
#include "tools/audit/linear_attack.h"

namespace bandana::audit {
namespace {

constexpr std::uint64_t kStreamSteps = 16;
constexpr std::uint64_t kShortSteps = 2;
constexpr std::size_t kStreamDimension = 2;
// The increment that is replaced, P's; Q has its opposite: 2 apart, twice the bound of 1.
constexpr double kEvent[kStreamDimension] = {0.6, 0.8};
constexpr double kOpposite[kStreamDimension] = {-0.6, -0.8};
// All the others, of both.
constexpr double kOther[kStreamDimension] = {0.28, -0.5};

// The stream's mu is the claim's, by the exact Gaussian curve. A ledger that reads rho = mu^2 / 2
// by the zCDP conversion states more than this: the attack is against the sharper number.
absl::StatusOr<CounterDesign> Design(const Claim& claim, CounterKind kind, std::uint64_t steps,
                                     double column_share) {
  BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(claim.epsilon, claim.delta));
  return CounterDesign::Create({.kind = kind,
                                .dimension = kStreamDimension,
                                .norm_bound = 1,
                                .rho = {mu.value * mu.value / 2 / column_share},
                                .horizon = steps,
                                .step_cap = steps});
}

// A stream on which the replaced event costs the most.
struct Course {
  std::uint64_t steps = kStreamSteps;
  std::uint64_t event = 1;  // the longest column is the first one
};
Course CourseOf(CounterKind kind) {
  if (kind == CounterKind::kEpochs) return {.steps = 128};  // the first epoch alone takes 32
  // The beginning of the last doubling, which is complete.
  if (kind == CounterKind::kHybrid) return {.steps = 15, .event = 8};
  return {};
}

// c_k^2 of the toeplitz factorization, c_k = (1 - 1/2) (1 - 1/4) .. (1 - 1/2k).
double SquaredCoefficient(std::uint64_t k) {
  double c = 1;
  for (std::uint64_t j = 1; j <= k; ++j) c *= 1 - 0.5 / static_cast<double>(j);
  return c * c;
}

// The share of S^2 that is left: sigma^2 is proportional to S^2 / rho.
absl::StatusOr<double> ColumnShare(const Claim& claim, CounterKind kind, Column column) {
  if (column == Column::kRight) return 1;
  if (column == Column::kUnsplit) return 0.5;
  const std::uint64_t steps = CourseOf(kind).steps;
  BANDANA_ASSIGN_OR_RETURN(const CounterDesign right, Design(claim, kind, steps, 1));
  const double squared = right.factors().SquaredColumn();
  if (column == Column::kWithoutFirst) return (squared - 1) / squared;
  // A node a level: of the levels above the leaves, every second one.
  if (column == Column::kOtherTree) return (1 + (squared - 1) / 2) / squared;
  if (column == Column::kFirstAlone) return 1 / squared;
  if (column == Column::kOffByOne) return (squared - 1 + SquaredCoefficient(steps)) / squared;
  BANDANA_ASSIGN_OR_RETURN(const CounterDesign cut, Design(claim, kind, kShortSteps, 1));
  return cut.factors().SquaredColumn() / squared;
}

struct Increments {
  ClippedIncrement event;
  ClippedIncrement opposite;
  ClippedIncrement other;
};
absl::StatusOr<std::shared_ptr<const Increments>> ClipAll(const IncrementGrid& grid) {
  BANDANA_ASSIGN_OR_RETURN(ClippedIncrement event, ClippedIncrement::Clip(kEvent, grid));
  BANDANA_ASSIGN_OR_RETURN(ClippedIncrement opposite, ClippedIncrement::Clip(kOpposite, grid));
  BANDANA_ASSIGN_OR_RETURN(ClippedIncrement other, ClippedIncrement::Clip(kOther, grid));
  return std::make_shared<const Increments>(
      Increments{std::move(event), std::move(opposite), std::move(other)});
}

// Appends a release, each number in units of its noise's deviation: nodes may differ in it, and
// then the projection is the likelihood ratio only so.
void Whiten(const CounterDesign& design, const CounterRelease& release, std::vector<double>& out) {
  for (std::size_t i = 0; i < release.values.size(); ++i) {
    const std::uint64_t variance = design.noise(release.step, i / kStreamDimension).sigma_squared();
    out.push_back(static_cast<double>(release.values[i]) /
                  std::sqrt(static_cast<double>(variance)));
  }
}

enum class View { kReleases, kLastEstimate };

absl::StatusOr<Attack> AttackStream(CounterDesign design, std::uint64_t event, View view) {
  BANDANA_ASSIGN_OR_RETURN(auto increments, ClipAll(design.grid()));
  return MakeLinearAttack(
      [design = std::move(design), increments = std::move(increments), event, view](
          Neighbour neighbour, BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        const ClippedIncrement& replaced =
            neighbour == Neighbour::kP ? increments->event : increments->opposite;
        CounterEncoder encoder(design);
        CounterDecoder decoder(design);
        std::vector<double> seen;
        for (std::uint64_t t = 1; t <= design.step_cap(); ++t) {
          const ClippedIncrement& next = t == event ? replaced : increments->other;
          BANDANA_ASSIGN_OR_RETURN(const CounterRelease release, encoder.Step(next, bits));
          if (view == View::kReleases) {
            Whiten(design, release, seen);
          } else {
            BANDANA_RETURN_IF_ERROR(decoder.Push(release));
          }
        }
        return view == View::kReleases ? seen : decoder.Estimate();
      },
      Threshold::kMidpoint);
}

constexpr int kJointDimension = 3;

RawInteraction EventAt(std::uint64_t step, Neighbour neighbour) {
  if (step > 1) return RawInteraction({0, 0.6, 0.8}, 0.5);
  if (neighbour == Neighbour::kP) return RawInteraction({1, 0, 0}, 1);
  return RawInteraction({-0.5, std::sqrt(0.75), 0}, 1);
}

constexpr int kUsers = 3;
constexpr std::uint64_t kShapedSteps = 16;
constexpr double kFeatures[] = {0.6, 0.8};

// Rewards in [-1, 1]: mid is 0, L B / 2 is 1.
absl::StatusOr<ClippedIncrement> IncrementOf(const NoiseShape& shape, std::size_t user,
                                             double reward, const IncrementGrid& grid) {
  std::vector<double> increment;
  for (std::size_t u = 0; u < kUsers; ++u) {
    for (const double x : kFeatures) {
      increment.push_back(shape.root[u * kUsers + user] * reward * x);
    }
  }
  return ClippedIncrement::Clip(increment, grid);
}

}  // namespace

absl::StatusOr<Attack> AttackCounter(const Claim& claim, CounterKind kind, Column column) {
  BANDANA_ASSIGN_OR_RETURN(const double share, ColumnShare(claim, kind, column));
  const Course course = CourseOf(kind);
  BANDANA_ASSIGN_OR_RETURN(CounterDesign design, Design(claim, kind, course.steps, share));
  return AttackStream(std::move(design), course.event, View::kReleases);
}

absl::StatusOr<Attack> AttackLastEstimate(const Claim& claim, CounterKind kind) {
  BANDANA_ASSIGN_OR_RETURN(CounterDesign design, Design(claim, kind, kStreamSteps, 1));
  return AttackStream(std::move(design), 1, View::kLastEstimate);
}

absl::StatusOr<Attack> AttackFreshNoiseTree(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(CounterDesign design,
                           Design(claim, CounterKind::kTree, kStreamSteps, 1));
  return MakeLinearAttack(
      [design = std::move(design)](Neighbour neighbour,
                                   BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        const double event = static_cast<double>(design.grid().norm_bound);
        std::vector<double> estimates(kStreamSteps, neighbour == Neighbour::kP ? event : -event);
        for (std::uint64_t t = 1; t <= kStreamSteps; ++t) {
          // One node for every set bit of t.
          for (int node = 0; node < std::popcount(t); ++node) {
            BANDANA_ASSIGN_OR_RETURN(const std::int64_t noise, design.noise(t, 0).Sample(bits));
            estimates[t - 1] += static_cast<double>(noise);
          }
        }
        return estimates;
      },
      Threshold::kMidpoint);
}

absl::StatusOr<Attack> AttackJointCounter(const Claim& claim, CounterKind kind, double declared) {
  BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(claim.epsilon, claim.delta));
  // Too small a sensitivity is as good as too large an epsilon.
  Epsilon epsilon = claim.epsilon;
  if (declared != 1) {
    BANDANA_ASSIGN_OR_RETURN(epsilon, GaussianEpsilon({mu.value / declared}, claim.delta));
  }
  const std::uint64_t steps = kind == CounterKind::kEpochs ? 128 : 16;
  BANDANA_ASSIGN_OR_RETURN(JointCounter counter, JointCounter::Create({.dimension = kJointDimension,
                                                                       .epsilon = epsilon,
                                                                       .delta = claim.delta,
                                                                       .kind = kind,
                                                                       .horizon = steps,
                                                                       .step_cap = steps}));
  return MakeLinearAttack(
      [counter = std::move(counter), steps](
          Neighbour neighbour, BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        CounterEncoder encoder(counter.design());
        std::vector<double> seen;  // every node has the same noise: no whitening
        for (std::uint64_t t = 1; t <= steps; ++t) {
          BANDANA_ASSIGN_OR_RETURN(const CounterRelease release,
                                   encoder.Step(counter.Clip(EventAt(t, neighbour)), bits));
          seen.insert(seen.end(), release.values.begin(), release.values.end());
        }
        return seen;
      },
      Threshold::kMidpoint);
}

absl::StatusOr<Attack> AttackShapedCounter(const Claim& claim, StepAddress address) {
  BANDANA_ASSIGN_OR_RETURN(const Mu mu, CalibrateGaussian(claim.epsilon, claim.delta));
  BANDANA_ASSIGN_OR_RETURN(NoiseShape shape,
                           ShapeNoise({1, 0.6, 0.2, 0.6, 1, 0.6, 0.2, 0.6, 1}, kUsers));
  BANDANA_ASSIGN_OR_RETURN(CounterDesign design,
                           CounterDesign::Create({.kind = CounterKind::kBlt,
                                                  .dimension = kUsers * std::size(kFeatures),
                                                  .norm_bound = 1,
                                                  .rho = {mu.value * mu.value / 2},
                                                  .horizon = kShapedSteps,
                                                  .step_cap = kShapedSteps}));
  return MakeLinearAttack(
      [shape = std::move(shape), design = std::move(design), address](
          Neighbour neighbour, BitSource& bits) -> absl::StatusOr<std::vector<double>> {
        BANDANA_ASSIGN_OR_RETURN(const NoiseKey key, NoiseKey::Generate(bits));
        CounterEncoder encoder(design);
        std::vector<double> seen;  // every node has the same noise: no whitening
        std::vector<std::int64_t> before;
        for (std::uint64_t t = 1; t <= kShapedSteps; ++t) {
          const bool replaced = t == 1 && neighbour == Neighbour::kQ;
          BANDANA_ASSIGN_OR_RETURN(
              const ClippedIncrement increment,
              IncrementOf(shape, (t - 1) % kUsers, replaced ? -1 : 1, design.grid()));
          BANDANA_ASSIGN_OR_RETURN(
              KeyedStream noise,
              KeyedStream::ForNode(key, {.epoch = 1,
                                         .parameters = design.digest(),
                                         .node = address == StepAddress::kInIt ? t : 1,
                                         .input = NoiseInput::None()}));
          BANDANA_ASSIGN_OR_RETURN(const CounterRelease release, encoder.Step(increment, noise));
          if (address == StepAddress::kInIt) {
            seen.insert(seen.end(), release.values.begin(), release.values.end());
          } else if (t > 1) {  // the noise is that of the step before
            for (std::size_t i = 0; i < before.size(); ++i) {
              seen.push_back(static_cast<double>(release.values[i] - before[i]));
            }
          }
          before = release.values;
        }
        return seen;
      },
      Threshold::kMidpoint);
}

}  // namespace bandana::audit
