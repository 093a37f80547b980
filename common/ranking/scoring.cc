#include "common/ranking/scoring.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/linalg/quadratic_forms.h"

namespace bandana {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose every output bit depends
// on every input bit.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Without NaN scores have an order, as partial_sort demands.
double OrLeast(double score) {
  return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
}

double Dot(std::span<const double> mean, const double* x) {
  // Four sums, because one would wait for each addition in turn; the order is fixed.
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= mean.size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += mean[i + k] * x[i + k];
  }
  for (; i < mean.size(); ++i) sums[0] += mean[i] * x[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void ScoreByMeans(std::span<const double> mean, std::span<const double* const> arms,
                  ArmScores& out) {
  BANDANA_CHECK(!mean.empty() && mean.size() <= static_cast<std::size_t>(kSparseDimensionMax));
  out.means.resize(arms.size());
  for (std::size_t a = 0; a < arms.size(); ++a) out.means[a] = Dot(mean, arms[a]);
  out.widths.assign(arms.size(), 0.0);
  out.scores = out.means;
}

}  // namespace

void ScoreArms(const NodePosterior& posterior, std::span<const double* const> arms,
               ArmScores& out) {
  const std::size_t d = posterior.mean.size();
  if (posterior.covariance.empty()) return ScoreByMeans(posterior.mean, arms, out);
  BANDANA_CHECK(d >= 1 && d <= static_cast<std::size_t>(kDimensionMax));
  BANDANA_CHECK(posterior.covariance.size() == d * d);
  const std::size_t n = arms.size();
  out.means.resize(n);
  out.widths.resize(n);
  QuadraticForms().compute(posterior.covariance.data(), posterior.mean.data(), static_cast<int>(d),
                           arms.data(), static_cast<int>(n), out.means.data(), out.widths.data());
  FinishScores(posterior.alpha, out);
}

void FinishScores(double alpha, ArmScores& scores) {
  const std::size_t n = scores.means.size();
  scores.scores.resize(n);
  // Through pointers that the loop cannot change: several arms at a time.
  const double* const means = scores.means.data();
  double* const widths = scores.widths.data();
  double* const out = scores.scores.data();
  for (std::size_t a = 0; a < n; ++a) {
    // x' K x is >= 0 but for rounding.
    widths[a] = std::sqrt(std::max(0.0, widths[a]));
    out[a] = means[a] + alpha * widths[a];
  }
}

void ScoreArms(const NodePosterior& posterior, std::span<const double> features, ArmScores& out) {
  const std::size_t d = posterior.mean.size();
  BANDANA_CHECK(d >= 1 && features.size() % d == 0);
  std::vector<const double*> arms(features.size() / d);
  for (std::size_t a = 0; a < arms.size(); ++a) arms[a] = features.data() + a * d;
  ScoreArms(posterior, arms, out);
}

void AddToArm(std::size_t a, double mean, double variance, double alpha, ArmScores& scores) {
  const double width = scores.widths[a];
  scores.means[a] += mean;
  scores.widths[a] = std::sqrt(width * width + std::max(0.0, variance));
  scores.scores[a] = scores.means[a] + alpha * scores.widths[a];
}

bool RankOrder::Before(double score_a, int position_a, double score_b, int position_b) const {
  const double a = OrLeast(score_a);
  const double b = OrLeast(score_b);
  if (a != b) return a > b;
  const auto tie_rank = [this](int position) {
    return Mix(tie_key + Mix(static_cast<std::uint64_t>(position) + 1));
  };
  const std::uint64_t rank_a = tie_rank(position_a);
  const std::uint64_t rank_b = tie_rank(position_b);
  return rank_a != rank_b ? rank_a < rank_b : position_a < position_b;
}

double ShareOfBest(std::span<const double> scores) {
  double best = -std::numeric_limits<double>::infinity();
  std::size_t equal = 0;
  for (const double score : scores) {
    if (score > best) equal = 0;
    best = std::max(best, score);
    equal += score == best ? 1 : 0;
  }
  return 1.0 / static_cast<double>(std::max<std::size_t>(equal, 1));
}

std::vector<int> RankArms(std::span<const double> scores, int top_k, std::uint64_t tie_key) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t kept = std::min(order.size(), static_cast<std::size_t>(std::max(0, top_k)));
  const RankOrder rank{tie_key};
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](int a, int b) { return rank.Before(scores[a], a, scores[b], b); });
  order.resize(kept);
  return order;
}

}  // namespace bandana
