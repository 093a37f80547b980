#include "tools/audit/randomizers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/mechanisms/reward_randomizer.h"

namespace bandana::audit {
namespace {

// For each output: is its likelihood ratio, P's input against Q's, within 1e-6 of the largest?
std::vector<bool> LargestRatioOutputs(const RewardRandomizer& randomizer) {
  const auto of_p = randomizer.Masses(RewardRandomizer::kInputSteps);
  const auto of_q = randomizer.Masses(0);
  std::vector<double> ratios(of_p.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    ratios[i] = static_cast<double>(of_p[i]) / static_cast<double>(of_q[i]);
  }
  const double largest = *std::max_element(ratios.begin(), ratios.end());
  std::vector<bool> outputs(ratios.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) outputs[i] = ratios[i] >= largest * (1 - 1e-6);
  return outputs;
}

absl::StatusOr<Attack> AttackIn(const RewardRange& window, const Claim& claim,
                                RandomizerKind kind) {
  BANDANA_ASSIGN_OR_RETURN(
      RewardRandomizer created,
      RewardRandomizer::CreateKind(
          {.epsilon = claim.epsilon, .binary = kind == RandomizerKind::kRandomizedResponse}, kind));
  const auto randomizer = std::make_shared<const RewardRandomizer>(std::move(created));
  return Attack([randomizer, window, event = LargestRatioOutputs(*randomizer)](
                    Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    const RawReward reward(neighbour == Neighbour::kP ? 1.0 : 0.0);
    BANDANA_ASSIGN_OR_RETURN(const PerturbedReward released,
                             randomizer->Randomize(randomizer->ClipTo(window, reward, 0), bits));
    return event[released.output()];
  });
}

using Law = std::vector<double>;  // probabilities, one an output

Law Normalized(Law law) {
  const double total = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& p : law) p /= total;
  return law;
}

Law LawOf(const RewardRandomizer& randomizer, std::uint32_t step) {
  const std::vector<std::uint64_t> masses = randomizer.Masses(step);
  return Normalized({masses.begin(), masses.end()});
}

// A draw from either law; the event is all outputs whose likelihood ratio is the largest.
Attack AttackLaws(const Law& of_p, const Law& of_q) {
  Law ratios(of_p.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = of_p[i] / std::max(of_q[i], 1e-300);
  const double largest = *std::max_element(ratios.begin(), ratios.end());
  std::vector<bool> event(ratios.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) event[i] = ratios[i] >= largest * (1 - 1e-6);
  const auto below = [](const Law& law) {
    Law sums(law.size());
    std::partial_sum(law.begin(), law.end(), sums.begin());
    sums.back() = 1;
    return sums;
  };
  return [p = below(of_p), q = below(of_q), event](Neighbour neighbour,
                                                   BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t draw, bits.NextBits(53));
    const Law& sums = neighbour == Neighbour::kP ? p : q;
    const double uniform = std::ldexp(static_cast<double>(draw), -53);
    return event[std::upper_bound(sums.begin(), sums.end(), uniform) - sums.begin()];
  };
}

absl::StatusOr<RewardRandomizer> Make(const Claim& claim, RandomizerKind kind) {
  return RewardRandomizer::CreateKind(
      {.epsilon = claim.epsilon, .binary = kind == RandomizerKind::kRandomizedResponse}, kind);
}

}  // namespace

absl::StatusOr<Attack> AttackRandomizer(const Claim& claim, RandomizerKind kind) {
  return AttackIn({0, 1}, claim, kind);
}

absl::StatusOr<Attack> AttackCentredRandomizer(const Claim& claim) {
  return AttackIn({0.625, 0.640625}, claim, RandomizerKind::kHybrid);
}

absl::StatusOr<Attack> AttackWholePercent(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const RewardRandomizer randomizer,
                           Make(claim, RandomizerKind::kRandomizedResponse));
  const double truth = LawOf(randomizer, RewardRandomizer::kInputSteps)[1];
  const double rounded = std::ceil(truth * 100) / 100;
  return AttackLaws({1 - rounded, rounded}, {rounded, 1 - rounded});
}

absl::StatusOr<Attack> AttackUnclippedBit(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const RewardRandomizer randomizer,
                           Make(claim, RandomizerKind::kStochasticRounding));
  // P(1) = 1/2 + s / (2 c): what s = 1 adds, for s = 1.25.
  const double added = 1.25 * (LawOf(randomizer, RewardRandomizer::kInputSteps)[1] - 0.5);
  const double one = std::min(1.0, 0.5 + added);
  return AttackLaws({1 - one, one}, {one, 1 - one});
}

absl::StatusOr<Attack> AttackWindowShare(const Claim& claim) {
  constexpr std::size_t kBitOutputs = 2;  // they come first
  constexpr double kRarer = 0.85;
  BANDANA_ASSIGN_OR_RETURN(const RewardRandomizer randomizer, Make(claim, RandomizerKind::kHybrid));
  Law of_q = LawOf(randomizer, 0);
  const double bit = std::accumulate(of_q.begin(), of_q.begin() + kBitOutputs, 0.0);
  const double bit_now = 1 - kRarer * (1 - bit);
  for (std::size_t i = 0; i < of_q.size(); ++i) of_q[i] *= i < kBitOutputs ? bit_now / bit : kRarer;
  return AttackLaws(LawOf(randomizer, RewardRandomizer::kInputSteps), Normalized(std::move(of_q)));
}

absl::StatusOr<Attack> AttackWindowOfReward(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(RewardRandomizer created, Make(claim, RandomizerKind::kHybrid));
  const auto randomizer = std::make_shared<const RewardRandomizer>(std::move(created));
  return Attack([randomizer](Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    constexpr RewardRange kRange = {0, 1};
    constexpr RewardRange kWindow = {0.625, 0.640625};
    const double reward = neighbour == Neighbour::kP ? 0.65 : 0.64;
    const bool inside = reward >= kWindow.min && reward <= kWindow.max;
    const RewardRange& window = inside ? kWindow : kRange;
    BANDANA_RETURN_IF_ERROR(
        randomizer->Randomize(randomizer->ClipTo(window, RawReward(reward), 0), bits).status());
    return !inside;  // the window stands in the report: it tells, whatever the output is
  });
}

}  // namespace bandana::audit
