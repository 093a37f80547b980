#include "common/judging/pair_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bandana {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMean01Unknown = 0.5;

double SumOfValues(const std::vector<NormalisedSums>& slots) {
  double sum = 0;
  for (const NormalisedSums& slot : slots) sum += slot.w > 0 ? slot.value() : kNaN;
  return sum;
}

// sum_t (w (y - value))^2 / mean(w)^2.
double SquaredTerms(const NormalisedSums& s, double n) {
  const double v = s.value();
  return (s.wwyy - 2 * v * s.wwy + v * v * s.ww) * n * n / (s.w * s.w);
}

}  // namespace

void NormalisedSums::Add(double weight, double y) {
  w += weight;
  wy += weight * y;
  ww += weight * weight;
  wwy += weight * weight * y;
  wwyy += weight * weight * y * y;
}

void PairSums::Add(const PairUnit& unit, const RewardScale& scale) {
  const double ips = unit.Ips();
  ips_.Add(ips);
  dr_.Add(unit.Dr(scale));
  dm_.Add(unit.Dm(scale));
  lists_ = lists_ || unit.slots() > 1;
  two_given_ = unit.has_two();
  if (one_.size() < unit.slots()) {
    one_.resize(unit.slots());
    two_.resize(unit.slots());
  }
  double mean01 = 0;
  for (std::size_t at = 0; at < unit.slots(); ++at) {
    const JudgedSlot& slot = unit.unit().slots[at];
    one_[at].Add(unit.weight_one(at), slot.y);
    if (two_given_) {
      two_[at].Add(unit.weight_two(at), slot.y);
      const double both = unit.weight_one(at) * unit.weight_two(at);
      cross_ += both;
      cross_y_ += both * slot.y;
      cross_yy_ += both * slot.y * slot.y;
    }
    mean01 += slot.y01;
  }
  const double c = unit.weight();
  weight_.Add(c);
  weight_max_ = std::max(weight_max_, std::abs(c));
  weight_abs_ += std::abs(c);
  weight_squares_ += c * c;
  // The mean of the rewards before: a guess that looks at no reward of this decision.
  const double before = reward01_.count() > 0 ? reward01_.mean() : kMean01Unknown;
  seen_ = unit.AddTerms(before, plain_, careful_) || seen_;
  reward01_.Add(mean01 / static_cast<double>(unit.slots()));
  uncovered_.Add(unit.uncovered());
  gained_.Add(unit.gained());
  lost_.Add(unit.lost());
  covered_.Add(unit.covered());
  slots_.Add(static_cast<double>(unit.slots()));
  heavy_sum_ += std::abs(ips);
  if (std::abs(ips) > heavy_max_) {
    heavy_max_ = std::abs(ips);
    heaviest_ = unit.unit().slots[0].view.decision->id;
  }
}

double PairSums::snips() const {
  if (decisions() == 0) return kNaN;
  return SumOfValues(one_) - (two_given_ ? SumOfValues(two_) : 0);
}

double PairSums::snips_deviation() const {
  if (lists_ || decisions() < 2 || !(one_[0].w > 0) || (two_given_ && !(two_[0].w > 0))) {
    return kNaN;
  }
  const auto n = static_cast<double>(decisions());
  double squares = SquaredTerms(one_[0], n);
  if (two_given_) {
    const double v1 = one_[0].value(), v2 = two_[0].value();
    squares +=
        SquaredTerms(two_[0], n) -
        2 * (cross_yy_ - (v1 + v2) * cross_y_ + v1 * v2 * cross_) * n * n / (one_[0].w * two_[0].w);
  }
  return std::sqrt(std::max(0.0, squares) / (n - 1));
}

double PairSums::effective_decisions() const {
  return weight_squares_ > 0 ? weight_abs_ * weight_abs_ / weight_squares_ : 0;
}

}  // namespace bandana
