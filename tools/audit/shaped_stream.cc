#include "tools/audit/shaped_stream.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/accounting/gaussian.h"
#include "common/bandits/noise_shape.h"
#include "common/base/status.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "common/random/keyed_stream.h"
#include "tools/audit/linear_attack.h"

namespace bandana::audit {
namespace {

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
