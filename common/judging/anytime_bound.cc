#include "common/judging/anytime_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/judging/mixture.h"

namespace bandana {

void AnytimeBound::Add(const BoundTerm& term) {
  const double residual = term.residual / (k_ + 1);
  sum_ += term.centre / (k_ + 1) + residual;
  squares_ += residual * residual;
  ++terms_;
}

double AnytimeBound::Lower(double log_threshold) const {
  if (terms_ == 0) return -std::numeric_limits<double>::infinity();
  const double root = GammaExponentialRoot(log_threshold, squares_, r_);
  return (sum_ - root) * (k_ + 1) / static_cast<double>(terms_);
}

double AnytimeBound::HalfWidth(double terms, double log_threshold) const {
  if (terms_ == 0) return std::numeric_limits<double>::infinity();
  const double squares = squares_ * terms / static_cast<double>(terms_);
  return GammaExponentialRoot(log_threshold, squares, r_) * (k_ + 1) / terms;
}

double AnytimeBound::LogWealth(double mean) const {
  const double s = Excess(mean);
  return s > 0 ? std::max(0.0, LogGammaExponential(s, squares_, r_)) : 0;
}

bool AnytimeBound::Excludes(double mean, double log_threshold) const {
  const double s = Excess(mean);
  // M is a mean of exp(l s - v (-log(1-l) - l)) <= exp(s^2 / (2 v)).
  if (!(s > 0) || s * s < 2 * squares_ * log_threshold) return false;
  return LogGammaExponential(s, squares_, r_) >= log_threshold;
}

AnytimeBound BoundDesign::Choose(double planned, double log_threshold) const {
  const double t = std::max(1.0, planned);
  const double count = std::max<double>(1, static_cast<double>(decisions_));
  double best = std::numeric_limits<double>::infinity();
  AnytimeBound chosen;
  for (std::size_t cut = 0; cut < kCuts.size(); ++cut) {
    const double k = kCuts[cut];
    const double v = squares_[cut] / count;
    const double width =
        std::sqrt(2 * log_threshold * v / t) + 2 * (k + 1) * log_threshold / (3 * t);
    if (width < best) {
      best = width;
      chosen = AnytimeBound(k, MixtureParameter(v * t / ((k + 1) * (k + 1)), log_threshold));
    }
  }
  return chosen;
}

}  // namespace bandana
