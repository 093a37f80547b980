#include "tools/fleet/tally.h"

#include <algorithm>

namespace bandana {
namespace {
constexpr std::uint64_t kCurvePoints = 200;
}  // namespace

Tally::Tally(std::uint64_t rounds) : rounds_(rounds) {}

void Tally::CountDecision(double best_expected, double mean_expected, double shown_expected,
                          double reward) {
  ++sums_.decisions;
  sums_.regret += best_expected - shown_expected;
  sums_.random_regret += best_expected - mean_expected;
  sums_.reward += reward;
  sums_.random_reward += mean_expected;
  // The k-th point stands at ceil(k * rounds / 200) decisions.
  const std::uint64_t points = std::min(kCurvePoints, rounds_);
  const std::uint64_t next = curve_.size() + 1;
  if (next <= points && sums_.decisions * points >= next * rounds_) curve_.push_back(sums_);
}

void Tally::CountDelivery(Delivery delivery) {
  switch (delivery) {
    case Delivery::kApplied:
      ++applied_;
      break;
    case Delivery::kDuplicate:
      ++duplicate_;
      break;
    case Delivery::kExpired:
    case Delivery::kRejected:
    case Delivery::kDropped:
      ++refused_;
      break;
  }
}

void Tally::CloseCurve() {
  if (sums_.decisions > 0 && (curve_.empty() || curve_.back().decisions < sums_.decisions))
    curve_.push_back(sums_);
}

std::uint64_t Tally::errors() const {
  std::uint64_t sum = invalid_answers_ + refused_;
  for (const auto& [code, count] : errors_) sum += count;
  return sum;
}

}  // namespace bandana
