#include "common/ranking/arm_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "common/linalg/symmetric.h"

namespace bandana {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// More than what rounding adds to or takes from a score, as a part of its largest term.
constexpr double kRounding = 1e-9;
// As above for a sum of two floats.
constexpr double kFloatRounding = 1e-6;
constexpr int kPowerSteps = 24;
// Candidates between two looks at which of them are still any.
constexpr std::size_t kDropEvery = 4096;
// Arms scored at first; later four times as many each time, so that the work on those left over is
// little in any case.
constexpr std::size_t kFirstScored = 64;

double FrobeniusNorm(const std::vector<double>& p) {
  double sum = 0;
  for (const double x : p) sum += x * x;
  return std::sqrt(sum);
}

// From below, close after some steps: the power method.
double Rayleigh(const std::vector<double>& p, int n) {
  std::vector<double> v(n);
  std::vector<double> next(n);
  for (int i = 0; i < n; ++i) v[i] = 1 + 0.5 * std::sin(1.0 + 3.0 * i);  // in no special direction
  double value = 0;
  for (int step = 0; step < kPowerSteps; ++step) {
    double square = 0;
    double form = 0;
    double length = 0;
    for (int i = 0; i < n; ++i) {
      next[i] = 0;
      for (int j = 0; j < n; ++j) next[i] += p[static_cast<std::size_t>(i) * n + j] * v[j];
      square += v[i] * v[i];
      form += v[i] * next[i];
      length += next[i] * next[i];
    }
    value = form / square;
    if (!(length > 0)) return 0;
    for (int i = 0; i < n; ++i) v[i] = next[i] / std::sqrt(length);
  }
  return value;
}

// Not less than the largest eigenvalue of the symmetric matrix, and hardly more: bound I - P has a
// factor. NaN where the matrix has one.
double LargestEigenvalueBound(const std::vector<double>& p, int n) {
  const double frobenius = FrobeniusNorm(p) * (1 + kRounding);
  const double near = Rayleigh(p, n);
  for (const double more : {1.005, 1.02, 1.1, 1.3, 2.0}) {
    const double bound = near * more;
    if (!(bound > 0 && bound < frobenius)) break;
    std::vector<double> rest(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) rest[i] = -p[i];
    for (int i = 0; i < n; ++i) rest[static_cast<std::size_t>(i) * (n + 1)] += bound;
    if (Factor(rest.data(), n, 0)) return bound * (1 + kRounding);
  }
  return frobenius;
}

// Not more than the smallest eigenvalue, which rounding may have made negative. `largest`: at least
// the largest one.
double SmallestEigenvalueBound(const std::vector<double>& p, int n, double largest) {
  for (const double part : {0.9, 0.5, 0.2, -1e-9, -1e-6, -1e-4, -1e-2}) {
    std::vector<double> rest = p;
    const double bound = part * largest;
    for (int i = 0; i < n; ++i) rest[static_cast<std::size_t>(i) * (n + 1)] -= bound;
    if (Factor(rest.data(), n, 0)) return bound - kRounding * std::abs(bound);
  }
  return -largest;
}

}  // namespace

ArmSearch::ArmSearch(const NodePosterior& posterior, const Common& common, int top_k)
    : top_k_(static_cast<std::size_t>(top_k)),
      common_(common),
      mean_(posterior.mean),
      next_drop_(kDropEvery) {
  BANDANA_CHECK(top_k >= 1);
  if (posterior.covariance.empty()) return;
  const auto d = static_cast<int>(posterior.mean.size());
  alpha_ = posterior.alpha;
  largest_ = LargestEigenvalueBound(posterior.covariance, d);
  smallest_ = SmallestEigenvalueBound(posterior.covariance, d, largest_);
}

double ArmSearch::WidestOf(double norm, double variance) const {
  return alpha_ * std::sqrt(largest_ * norm * norm + variance + common_.variance);
}

double ArmSearch::NarrowestOf(double norm) const {
  // Norms are rounded up.
  const double less = smallest_ > 0 ? norm * (1 - kFloatRounding) : norm;
  return alpha_ * std::sqrt(std::max(0.0, smallest_ * less * less + common_.variance));
}

// A heap of the largest, the least of them on top.
void ArmSearch::NoteScoreOfAtLeast(double score) {
  if (std::isnan(score)) return;
  if (at_least_.size() == top_k_) {
    if (!(score > at_least_.front())) return;
    std::pop_heap(at_least_.begin(), at_least_.end(), std::greater<>());
    at_least_.pop_back();
  }
  at_least_.push_back(score);
  std::push_heap(at_least_.begin(), at_least_.end(), std::greater<>());
}

void ArmSearch::DropBelow(double score) {
  std::erase_if(candidates_, [score](const Candidate& c) { return c.bound < score; });
}

void ArmSearch::Look(const ArmRun& run) {
  const ArmSketch& sketch = *run.sketch;
  sums_.resize(static_cast<std::size_t>(sketch.padded()));
  const double slack = sketch.Products(mean_, sums_.data()) + run.means_error;
  for (std::size_t a = 0; a < run.means.size(); ++a) sums_[a] += run.means[a];
  // The most that any of the arms adds to its sum.
  const double more = slack + (1 + kRounding) * WidestOf(sketch.norm_max(), run.variance_max);
  const auto cut = [&] {
    if (at_least_.size() < top_k_) return -std::numeric_limits<float>::infinity();
    const double sum = at_least_.front() - common_.mean - more;
    const double rounding = kRounding * (std::abs(at_least_.front()) + std::abs(common_.mean));
    return static_cast<float>(sum - rounding - kFloatRounding * std::abs(sum));
  };
  float least = cut();
  const auto look = [&](std::uint32_t row, std::size_t position) {
    if (sums_[row] < least) return;
    LookAt(run, {.run = runs_, .row = row, .position = arms_ + static_cast<int>(position)}, slack);
    least = cut();
  };
  const std::size_t n = run.rows.empty() ? sketch.norms().size() : run.rows.size();
  if (run.rows.empty()) {
    for (std::size_t row = 0; row < n; ++row) look(static_cast<std::uint32_t>(row), row);
  } else {
    for (std::size_t i = 0; i < n; ++i) look(run.rows[i], i);
  }
  arms_ += static_cast<int>(n);
  ++runs_;
  if (candidates_.size() < next_drop_) return;
  if (at_least_.size() == top_k_) DropBelow(at_least_.front());
  next_drop_ = 2 * candidates_.size() + kDropEvery;
}

void ArmSearch::LookAt(const ArmRun& run, const ArmPlace& place, double slack) {
  const double sum = sums_[place.row];
  const double norm = run.sketch->norms()[place.row];
  const double widest = WidestOf(norm, run.variance_max);
  const double either_way =
      slack + kFloatRounding * std::abs(sum) + kRounding * (std::abs(common_.mean) + widest);
  double bound = sum + common_.mean + widest + either_way;
  if (std::isnan(bound)) bound = kInfinity;
  if (at_least_.size() == top_k_ && bound < at_least_.front()) return;
  candidates_.push_back({.bound = bound, .place = place});
  NoteScoreOfAtLeast(sum + common_.mean + NarrowestOf(norm) - either_way);
}

std::vector<ArmPlace> ArmSearch::TakeBest(std::size_t count) {
  const auto rest =
      candidates_.begin() + static_cast<std::ptrdiff_t>(std::min(count, candidates_.size()));
  const auto higher = [](const Candidate& a, const Candidate& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.place.position < b.place.position;
  };
  if (rest != candidates_.end()) {
    std::nth_element(candidates_.begin(), rest, candidates_.end(), higher);
  }
  // In the order in which they lie in memory.
  std::vector<ArmPlace> places;
  for (auto it = candidates_.begin(); it != rest; ++it) places.push_back(it->place);
  std::sort(places.begin(), places.end(),
            [](const ArmPlace& a, const ArmPlace& b) { return a.position < b.position; });
  candidates_.erase(candidates_.begin(), rest);
  return places;
}

std::vector<FoundArm> ArmSearch::Finish(std::uint64_t tie_key, const Score& score) {
  const RankOrder order{tie_key};
  std::vector<FoundArm> best;
  ArmScores scores;
  if (at_least_.size() == top_k_) DropBelow(at_least_.front());
  std::size_t count = kFirstScored;
  while (!candidates_.empty()) {
    const std::vector<ArmPlace> places = TakeBest(count);
    const std::size_t left = candidates_.size();
    score(places, scores);
    scored_ += places.size();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (scores.scores[i] > best_) ties_ = 0;
      best_ = std::max(best_, scores.scores[i]);
      ties_ += scores.scores[i] == best_ ? 1 : 0;
      best.push_back({.place = places[i],
                      .mean = scores.means[i],
                      .width = scores.widths[i],
                      .score = scores.scores[i]});
    }
    const std::size_t kept = std::min(top_k_, best.size());
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(kept), best.end(),
                      [&order](const FoundArm& a, const FoundArm& b) {
                        return order.Before(a.score, a.place.position, b.score, b.place.position);
                      });
    best.resize(kept);
    if (kept == top_k_) DropBelow(best.back().score);
    // Where scores drop hardly any of the others, more of them will not either.
    count = candidates_.size() > left / 8 * 7 ? candidates_.size() : count * 4;
  }
  return best;
}

}  // namespace bandana
