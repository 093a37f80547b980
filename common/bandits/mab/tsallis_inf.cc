#include "common/bandits/mab/tsallis_inf.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Newton's method from y = 1 for sum (z_i + y)^-2 = 1, z >= 0 with a zero among them. Quadratic
// near the root; from 1 to sqrt(K) it takes a step a factor 3/2 at the worst.
double SolveNormalizer(std::span<const double> z) {
  double y = 1;
  for (int iteration = 0; iteration < 64; ++iteration) {
    double squares = 0;
    double cubes = 0;
    for (const double z_i : z) {
      const double inverse = 1 / (z_i + y);
      squares += inverse * inverse;
      cubes += inverse * inverse * inverse;
    }
    const double step = (squares - 1) / (2 * cubes);
    if (!(step > 1e-14 * y)) break;  // at the root, or rounding put it just beyond
    y += step;
  }
  return y;
}

}  // namespace

void TsallisProbabilities(std::span<const double> losses, double rate, std::vector<double>& out) {
  BANDANA_CHECK(!losses.empty());
  const double least = *std::min_element(losses.begin(), losses.end());
  out.resize(losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) out[i] = rate * (losses[i] - least) / 2;
  const double y = SolveNormalizer(out);
  double sum = 0;
  for (double& w : out) {
    w = 1 / ((w + y) * (w + y));
    sum += w;
  }
  for (double& w : out) w /= sum;
}

absl::StatusOr<std::unique_ptr<TsallisInf>> TsallisInf::Create(const Options& options) {
  BANDANA_RETURN_IF_ERROR(CheckArms(options.arms));
  if (!(std::abs(options.reward_middle) <= kRewardAbsMax)) {
    return InvalidArgument("reward_middle must be at most ", kRewardAbsMax, " in size, got ",
                           options.reward_middle);
  }
  if (!(options.reward_scale > 0 && options.reward_scale <= kRewardAbsMax)) {
    return InvalidArgument("reward_scale must be in (0, ", kRewardAbsMax, "], got ",
                           options.reward_scale);
  }
  if (!(options.reward_excess > 0 && options.reward_excess <= kRewardAbsMax)) {
    return InvalidArgument("reward_excess must be in (0, ", kRewardAbsMax, "], got ",
                           options.reward_excess);
  }
  return std::unique_ptr<TsallisInf>(new TsallisInf(options));
}

TsallisInf::TsallisInf(const Options& options) : ArmPolicy(options.arms), options_(options) {
  Refresh();
}

// Probabilities below it are too small for centred losses.
double TsallisInf::ShiftedBelow() const { return 16 / (static_cast<double>(events()) + 1); }

void TsallisInf::Update(const ArmEvent& event, std::vector<ArmStatistics>& statistics) const {
  const double below = ShiftedBelow();
  for (std::size_t arm = 0; arm < statistics.size(); ++arm) {
    if (weights_[arm] < below) statistics[arm].sum -= options_.reward_excess;
  }
  const double shift = event.probability < below ? options_.reward_excess : 0;
  statistics[event.arm].sum += (options_.reward_middle + shift - event.reward) / event.probability;
}

void TsallisInf::Refresh() {
  std::vector<double> losses;
  losses.reserve(statistics().size());
  for (const ArmStatistics& arm : statistics()) losses.push_back(arm.sum);
  const double rate = 2 / (options_.reward_scale * std::sqrt(static_cast<double>(events()) + 1));
  TsallisProbabilities(losses, rate, weights_);
}

}  // namespace bandana
