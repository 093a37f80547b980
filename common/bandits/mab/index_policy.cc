#include "common/bandits/mab/index_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x ln(x / y) with 0 ln 0 = 0.
double RelativeTerm(double x, double y) {
  if (x == 0) return 0;
  return y > 0 ? x * std::log(x / y) : kInfinity;
}

}  // namespace

double BernoulliDivergence(double p, double q) {
  return RelativeTerm(p, q) + RelativeTerm(1 - p, 1 - q);
}

double KlUpperBound(double p, double level) {
  if (p >= 1) return 1;
  // -(1 - p) ln(1 - q) - entropy(p) <= kl(p, q): solved for 1 - q.
  const double entropy = -RelativeTerm(p, 1) - RelativeTerm(1 - p, 1);
  const double beyond = -std::expm1(-(level + entropy) / (1 - p));
  double q = std::min(p + std::sqrt(level / 2), beyond);
  for (int iteration = 0; iteration < 64 && q > p && q < 1; ++iteration) {
    // kl' = (q - p) / (q (1 - q))
    const double step = (BernoulliDivergence(p, q) - level) * q * (1 - q) / (q - p);
    if (!(step > 1e-12)) break;
    q -= step;
  }
  return std::clamp(q, p, 1.0);
}

absl::StatusOr<std::unique_ptr<IndexPolicy>> IndexPolicy::Create(const Options& options) {
  BANDANA_RETURN_IF_ERROR(CheckArms(options.arms));
  if (options.kind == Kind::kBernoulliKl &&
      !(options.value_low >= -kRewardAbsMax && options.value_high <= kRewardAbsMax &&
        options.value_low < options.value_high)) {
    return InvalidArgument("values must have low < high within ", kRewardAbsMax, ", got [",
                           options.value_low, ", ", options.value_high, "]");
  }
  if (options.kind == Kind::kSubGaussian &&
      !(options.variance_proxy > 0 && options.variance_proxy <= kRewardAbsMax * kRewardAbsMax)) {
    return InvalidArgument("variance_proxy must be in (0, ", kRewardAbsMax * kRewardAbsMax,
                           "], got ", options.variance_proxy);
  }
  if (!(options.log_log_weight >= 0 && options.log_log_weight <= 10)) {
    return InvalidArgument("log_log_weight must be in [0, 10], got ", options.log_log_weight);
  }
  return std::unique_ptr<IndexPolicy>(new IndexPolicy(options));
}

void IndexPolicy::Update(const ArmEvent& event, std::vector<ArmStatistics>& statistics) const {
  statistics[event.arm].sum +=
      options_.kind == Kind::kSubGaussian
          ? event.reward
          : std::clamp(event.reward, options_.value_low, options_.value_high);
}

double IndexPolicy::Bonus() const {
  const double log_t = std::log(std::max<double>(1, static_cast<double>(events())));
  return log_t + options_.log_log_weight * std::log(std::max(1.0, log_t));
}

double IndexPolicy::IndexOf(const ArmStatistics& arm, double bonus) const {
  if (arm.events == 0) return kInfinity;
  const double n = static_cast<double>(arm.events);
  const double mean = arm.sum / n;
  if (options_.kind == Kind::kSubGaussian) {
    return mean + std::sqrt(2 * options_.variance_proxy * bonus / n);
  }
  const double width = options_.value_high - options_.value_low;
  const double p = std::clamp((mean - options_.value_low) / width, 0.0, 1.0);
  return options_.value_low + width * KlUpperBound(p, bonus / n);
}

double IndexPolicy::Index(int arm) const {
  BANDANA_CHECK(arm >= 0 && arm < arms());
  return IndexOf(statistics()[arm], Bonus());
}

void IndexPolicy::Probabilities(std::vector<double>& out) const {
  const double bonus = Bonus();
  out.clear();
  double best = -kInfinity;
  for (const ArmStatistics& arm : statistics()) {
    out.push_back(IndexOf(arm, bonus));
    best = std::max(best, out.back());
  }
  const auto winners = static_cast<double>(std::count(out.begin(), out.end(), best));
  for (double& value : out) value = value == best ? 1 / winners : 0;
}

}  // namespace bandana
