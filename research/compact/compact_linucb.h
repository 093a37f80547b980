// LinUCB with one shared parameter in a low dimension, made for millions of rounds per second.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "research/compact/column_scoring.h"

namespace bandana {

// Has the posterior of BanditModel over Coupling::Shared(): K = (I / tau^2 + sum x x' / s2)^-1, m =
// K sum x r / s2, rank-one steps in double precision, recomputed from the sums every kRebuildEvents
// so that no drift adds up. Scores are in single precision (ColumnScorer). Without privacy.
// Threads: not thread-safe.
class CompactLinUcb {
 public:
  static constexpr int kRebuildEvents = 4096;
  struct Options {
    int dimension = 0;                // d, [1, ColumnScorer::kDimensionMax]
    double observation_variance = 1;  // s2, [1e-12, 1e12]
    double prior_variance = 1;        // tau^2, [1e-12, 1e12]
    double alpha = 0.3;               // factor of the width, [0, 1e6]
  };
  // Errors: INVALID_ARGUMENT names option and range.
  static absl::StatusOr<CompactLinUcb> Create(const Options& options);

  // The arm to show; layout and cost as ColumnScorer::Best.
  int Select(const float* x, std::size_t stride, int arms);
  // Learns from the reward of an arm, x of d finite entries. Cost: 3 d^2 multiply-adds.
  void Learn(std::span<const double> x, double reward);

  std::span<const double> mean() const { return mean_; }
  std::span<const double> covariance() const { return covariance_; }  // d x d, full
  std::uint64_t events() const { return events_; }

 private:
  explicit CompactLinUcb(const Options& options);
  void Rebuild();

  Options options_;
  std::vector<double> gram_, moment_;  // sums of x x' (full) and x r
  std::vector<double> covariance_, mean_;
  std::uint64_t events_ = 0;
  bool scored_ = false;  // the scorer has the present posterior
  ColumnScorer scorer_;
};

}  // namespace bandana
