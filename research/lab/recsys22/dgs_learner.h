// [WZ22] Algorithm 2, LinUCB with dynamic global sensitivity, as printed: noise on theta.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/random/real_samplers.h"
#include "research/lab/recsys20/learner.h"

namespace bandana::lab {

enum class DgsSensitivity {
  kPrinted,  // 32 L / (lambda_0 t), t the end of a node's interval (the paper's appendix)
  kAuthors,  // 1 / t, as the authors' experiments ran
};

struct DgsOptions {
  DgsSensitivity sensitivity = DgsSensitivity::kPrinted;
  bool horizon_known = true;  // false: the hybrid mechanism [CSS11]
  double lambda_0 = 0.1;      // least eigenvalue of E[x x'] over the arms, > 0
  double lambda = 0.1;        // of the ridge
  double alpha = 0.3;         // of the width
};

// One LinUCB per user: A = lambda I + sum x x', theta_t = A^-1 sum x r. Arms are scored by
//   theta_t + sum of the noise of the nodes that make up [1, t],
// with width alpha sqrt(x' A^-1 x). A node gets Laplace noise of scale m D(t) / epsilon per
// coordinate, D the sensitivity at its interval's end t, m = floor(log2 T) + 1. Hybrid: half of
// epsilon for one draw at every power of two, half for trees of k + 1 levels over (2^k, 2^(k+1)).
// Label `published`, and not private as printed: theta_t, not its increment, depends on every
// earlier reward, so one reward moves every later node, not m of them
// (docs/design/mechanisms.md#where-the-papers-need-repair). `world` must outlive the learner.
// Errors: INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<Learner>> MakeDgs(const World& world, const LearnerOptions& options,
                                                 const DgsOptions& dgs);

// The noise in theta over one user's rounds. Exposed for tests.
class DgsNoise {
 public:
  // `scale_of_one`: L / lambda_0 times 32, or 1. Requires epsilon > 0.
  DgsNoise(int dimension, double epsilon, double scale_of_one, std::uint64_t horizon,
           bool horizon_known);

  // Moves theta by one more round. Errors: UNAVAILABLE no noise.
  absl::Status Step(RealSampler& sampler);
  const std::vector<double>& sum() const { return sum_; }
  // The scale of the node that ends at round t, and the nodes that make up [1, t] with it.
  double ScaleAt(std::uint64_t round) const;
  int NodesAt(std::uint64_t round) const;

 private:
  int LevelAt(std::uint64_t round) const;
  double epsilon_;
  double scale_of_one_;
  std::uint64_t horizon_;
  bool horizon_known_;
  std::uint64_t round_ = 0;
  std::vector<std::vector<double>> levels_;  // noise of the tree's nodes
  std::vector<double> whole_;                // hybrid: noise of the powers of two
  std::vector<double> sum_;
};

}  // namespace bandana::lab
