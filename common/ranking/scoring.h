// UCB scores of many arms at once, and their ranking. Used by the server's Select, by the SDK on
// the device and by the lab.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/ranking/posterior.h"

namespace bandana {

// One entry per arm.
struct ArmScores {
  std::vector<double> means;   // x . m_u
  std::vector<double> widths;  // sqrt(x' K_uu x), >= 0
  std::vector<double> scores;  // mean + alpha * width
};

// Scores n = arms.size() arms, d features at each pointer, all finite (the caller has validated).
// `out` is resized and reused. Without a covariance widths are 0 and scores are the means.
// Cost: n d^2 multiply-adds, one pass, vectorised with runtime dispatch; n d without a covariance.
void ScoreArms(const NodePosterior& posterior, std::span<const double* const> arms, ArmScores& out);
// As above for n = features.size() / d arms side by side, row-major n x d.
void ScoreArms(const NodePosterior& posterior, std::span<const double> features, ArmScores& out);

// Makes widths of their squares, and the scores.
void FinishScores(double alpha, ArmScores& scores);

// Adds to arm `a` what it has beside its features: a mean, and a variance, which below 0 is taken
// for 0. `alpha`: the posterior's.
void AddToArm(std::size_t a, double mean, double variance, double alpha, ArmScores& scores);

// The order of a ranking: the better score first; a score that is NaN (the estimate makes no sense)
// counts as -infinity. Equal scores are ordered by a hash of (tie_key, position): ties fall
// differently in each decision, and the same way on every replica that uses the same key.
struct RankOrder {
  std::uint64_t tie_key = 0;
  bool Before(double score_a, int position_a, double score_b, int position_b) const;
};

// The arms with the best score are ranked first equally often: with 1 / their number. 1 where no
// score is a number.
double ShareOfBest(std::span<const double> scores);
// The probability that this policy ranks first the arm with rank `rank`. `share`: ShareOfBest.
inline double FirstProbability(std::size_t rank, double score, double best, double share) {
  return rank == 0 || score == best ? share : 0;
}

// Positions of the top_k best scores, best first, in that order.
std::vector<int> RankArms(std::span<const double> scores, int top_k, std::uint64_t tie_key);

}  // namespace bandana
