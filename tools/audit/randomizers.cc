#include "tools/audit/randomizers.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/status.h"

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

}  // namespace

absl::StatusOr<Attack> AttackRandomizer(const Claim& claim, RandomizerKind kind) {
  return AttackIn({0, 1}, claim, kind);
}

absl::StatusOr<Attack> AttackCentredRandomizer(const Claim& claim) {
  return AttackIn({0.625, 0.640625}, claim, RandomizerKind::kHybrid);
}

}  // namespace bandana::audit
