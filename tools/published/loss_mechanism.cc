#include "tools/published/loss_mechanism.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {

absl::StatusOr<LossMechanism> LossMechanism::Create(const Options& options) {
  const auto make_randomizer = [&] {
    return RewardRandomizer::Create(
        {.epsilon = options.epsilon, .range = options.range, .binary = options.binary});
  };
  const auto make_gaussian = [&] {
    return ScalarGaussian::Create(
        {.epsilon = options.epsilon, .delta = options.delta, .range = options.range});
  };
  if (options.kind != LossMechanismKind::kGaussian) {
    BANDANA_ASSIGN_OR_RETURN(RewardRandomizer randomizer, make_randomizer());
    if (options.kind == LossMechanismKind::kAuto && options.delta.value != 0) {
      BANDANA_ASSIGN_OR_RETURN(ScalarGaussian gaussian, make_gaussian());
      if (gaussian.Variance() < randomizer.VarianceMax()) {
        return LossMechanism(options.range, gaussian);
      }
    }
    return LossMechanism(options.range, std::move(randomizer));
  }
  BANDANA_ASSIGN_OR_RETURN(ScalarGaussian gaussian, make_gaussian());
  return LossMechanism(options.range, gaussian);
}

LossMechanismKind LossMechanism::kind() const {
  return std::holds_alternative<RewardRandomizer>(mechanism_) ? LossMechanismKind::kRandomizer
                                                              : LossMechanismKind::kGaussian;
}

std::string_view LossMechanism::name() const {
  const auto* randomizer = std::get_if<RewardRandomizer>(&mechanism_);
  if (randomizer == nullptr) return "scalar Gaussian";
  switch (randomizer->kind()) {
    case RandomizerKind::kRandomizedResponse:
      return "randomized response";
    case RandomizerKind::kStochasticRounding:
      return "stochastic rounding";
    case RandomizerKind::kHybrid:
      return "hybrid randomizer";
  }
  BANDANA_CHECK(false);
}

// PROOF: scalar_loss begin
absl::StatusOr<PerturbedLoss> LossMechanism::Release(const RawReward& value, double default_value,
                                                     BitSource& bits) const {
  if (const auto* randomizer = std::get_if<RewardRandomizer>(&mechanism_)) {
    BANDANA_ASSIGN_OR_RETURN(const PerturbedReward released,
                             randomizer->Randomize(randomizer->Clip(value, default_value), bits));
    return PerturbedLoss(released.output());
  }
  const auto& gaussian = std::get<ScalarGaussian>(mechanism_);
  BANDANA_ASSIGN_OR_RETURN(const PerturbedStatistics released,
                           gaussian.Perturb(gaussian.Clip(value, default_value), bits));
  return PerturbedLoss(released.grid()[0]);
}
// PROOF: scalar_loss end

absl::StatusOr<double> LossMechanism::ValueOf(std::int64_t code) const {
  const auto* randomizer = std::get_if<RewardRandomizer>(&mechanism_);
  // A noisy grid point is below 2^41 + 2^38.
  const std::int64_t begin = randomizer != nullptr ? 0 : -(std::int64_t{1} << 42);
  const std::int64_t end = randomizer != nullptr ? randomizer->outputs() : std::int64_t{1} << 42;
  if (code < begin || code >= end) {
    return InvalidArgument("code must be in [", begin, ", ", end, "), got ", code);
  }
  return ValueOfOwn(code);
}

double LossMechanism::ValueOfOwn(std::int64_t code) const {
  if (const auto* randomizer = std::get_if<RewardRandomizer>(&mechanism_)) {
    return randomizer->Value(static_cast<std::uint32_t>(code));
  }
  return std::get<ScalarGaussian>(mechanism_).Value(code);
}

double LossMechanism::VarianceMax() const {
  if (const auto* randomizer = std::get_if<RewardRandomizer>(&mechanism_)) {
    return randomizer->VarianceMax();
  }
  return std::get<ScalarGaussian>(mechanism_).Variance();
}

double LossMechanism::VarianceProxy() const {
  const double half_width = OutputRange().width() / 2;
  const auto* gaussian = std::get_if<ScalarGaussian>(&mechanism_);
  return half_width * half_width + (gaussian != nullptr ? gaussian->Variance() : 0);
}

RewardRange LossMechanism::OutputRange() const {
  const auto* randomizer = std::get_if<RewardRandomizer>(&mechanism_);
  if (randomizer == nullptr) return range_;
  RewardRange outputs = {std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity()};
  for (std::uint32_t output = 0; output < randomizer->outputs(); ++output) {
    outputs.min = std::min(outputs.min, randomizer->Value(output));
    outputs.max = std::max(outputs.max, randomizer->Value(output));
  }
  return outputs;
}

}  // namespace bandana
