#include "research/lab/neurips20/arm_sequence.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"
#include "tools/environments/random.h"

namespace bandana {

absl::StatusOr<ArmLaw> ParseArmLaw(std::string_view name) {
  if (name == "stochastic") return ArmLaw::kStochastic;
  if (name == "adversarial") return ArmLaw::kAdversarial;
  return InvalidArgument("law must be stochastic or adversarial, got `", ToAbsl(name), "`");
}

absl::StatusOr<ArmSequence> ArmSequence::Create(const Options& options) {
  if (options.arms < 1 || options.arms > 100'000) {
    return InvalidArgument("arms must be in [1, 100000], got ", options.arms);
  }
  if (!(options.gap >= 0 && options.gap <= 1)) {
    return InvalidArgument("gap must be in [0, 1], got ", options.gap);
  }
  return ArmSequence(options);
}

ArmSequence::ArmSequence(const Options& options)
    : options_(options),
      best_(static_cast<int>(
          SeededStream(options.seed, StreamPurpose::kArm, 0).Below(options.arms))) {
  std::uint64_t end = 0;
  double length = 1;
  while (length < 1e12) {
    end += static_cast<std::uint64_t>(length);
    phase_ends_.push_back(end);
    length *= 1.6;
  }
}

double ArmSequence::Mean(std::uint64_t round, int arm) const {
  const bool is_best = arm == best_;
  if (options_.law == ArmLaw::kStochastic) return 0.5 + (is_best ? 0.5 : -0.5) * options_.gap;
  const auto phase =
      std::upper_bound(phase_ends_.begin(), phase_ends_.end(), round) - phase_ends_.begin();
  const double level = phase % 2 == 0 ? 1 - options_.gap : 0;
  return level + (is_best ? options_.gap : 0);
}

double ArmSequence::Reward(std::uint64_t round, int arm) const {
  const double draw = SeededStream(options_.seed, StreamPurpose::kReward, round).Uniform();
  return draw < Mean(round, arm) ? 1 : 0;
}

}  // namespace bandana
