#include "common/bandits/mab/lil_ucb.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<LilUcb>> LilUcb::Create(const Options& options) {
  BANDANA_RETURN_IF_ERROR(CheckArms(options.arms));
  if (!(options.variance_proxy > 0 && options.variance_proxy <= kRewardAbsMax * kRewardAbsMax)) {
    return InvalidArgument("variance_proxy must be in (0, ", kRewardAbsMax * kRewardAbsMax,
                           "], got ", options.variance_proxy);
  }
  if (!(options.failure_probability > 0 && options.failure_probability < 1)) {
    return InvalidArgument("failure_probability must be in (0, 1), got ",
                           options.failure_probability);
  }
  return std::unique_ptr<LilUcb>(new LilUcb(options));
}

LilUcb::LilUcb(const Options& options) : ArmPolicy(options.arms), options_(options) {
  const double nu = options.failure_probability;
  if (options.variant == Variant::kTheory) {
    e_ = 0.01;
    beta_ = 1;
    lambda_ = 9;
    const double root = (std::sqrt(1 + nu) - 1) / 2;
    const double c_e = (2 + e_) / e_ * std::pow(1 / std::log1p(e_), 1 + e_);
    log_inverse_delta_ = std::log(c_e / (root * root));
  } else {
    e_ = 0;
    beta_ = 0.5;
    lambda_ = 1 + 10.0 / options.arms;
    log_inverse_delta_ = std::log(1 / nu);
  }
}

std::optional<int> LilUcb::Decision() const {
  if (arms() == 1) return 0;
  for (const ArmStatistics& arm : statistics()) {
    if (arm.events == 0) return std::nullopt;
  }
  // lambda >= 1: at most one arm can have more than all the others together.
  for (int i = 0; i < arms(); ++i) {
    const auto own = static_cast<double>(statistics()[i].events);
    if (own >= 1 + lambda_ * (static_cast<double>(events()) - own)) return i;
  }
  return std::nullopt;
}

void LilUcb::Probabilities(std::vector<double>& out) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  out.assign(arms(), 0.0);
  if (const std::optional<int> decision = Decision(); decision.has_value()) {
    out[*decision] = 1;
    return;
  }
  double best = -kInfinity;
  for (int i = 0; i < arms(); ++i) {
    const ArmStatistics& arm = statistics()[i];
    const double n = static_cast<double>(arm.events);
    if (n == 0) {
      out[i] = kInfinity;
    } else {
      // ln ln is below zero for the first events: there the confidence is that of ln 2.
      const double log_log = std::log(std::max(std::log((1 + e_) * n), std::log(2.0)));
      const double width =
          2 * options_.variance_proxy * (1 + e_) * std::max(0.0, log_log + log_inverse_delta_) / n;
      out[i] = arm.sum / n + (1 + beta_) * (1 + std::sqrt(e_)) * std::sqrt(width);
    }
    best = std::max(best, out[i]);
  }
  const auto winners = static_cast<double>(std::count(out.begin(), out.end(), best));
  for (double& value : out) value = value == best ? 1 / winners : 0;
}

}  // namespace bandana
