// The players of the rounds of [SS18]'s experiments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"

namespace bandana::lab {

// Arms lie as ColumnScorer::Best wants them. Threads: not thread-safe.
class RoundPolicy {
 public:
  virtual ~RoundPolicy() = default;
  // Position of the arm to show.
  virtual absl::StatusOr<int> Choose(const float* x, std::size_t stride, int arms) = 0;
  // The reward of the arm that was shown.
  virtual absl::Status Learn(std::span<const double> x, double reward) = 0;
  virtual std::string mechanism() const = 0;
  // Posteriors whose noisy Gram matrix had to be clipped to the semidefinite cone.
  virtual std::uint64_t grams_repaired() const { return 0; }
};

// How a private posterior chooses.
enum class Exploration {
  kThompson,  // a parameter drawn around the mean, `scale` posterior standard deviations wide
  kUcb,       // mean + scale widths
};

struct PolicyOptions {
  int dimension = 5;
  double theta_l2_max = 1;  // what the algorithms know of |theta*|
  Epsilon epsilon;
  Delta delta;
  std::uint64_t horizon = 0;
  std::uint64_t seed = 0;
  Exploration exploration = Exploration::kThompson;
  double scale = 0.4;  // of a private posterior's exploration
  double alpha = 0.3;  // of LinUCB without privacy
  double prior_stddev = 1;
  // The noise that a private posterior counts on beside the noise of privacy. Below the true 1:
  // draws then explore where privacy hides something and hardly where only rewards are noisy.
  double reward_stddev = 0.1;
};

// LinUCB, mean + alpha widths.
absl::StatusOr<std::unique_ptr<RoundPolicy>> MakeNonPrivate(const PolicyOptions& options);

// The tree over the (d + 1) x (d + 1) Gram matrix. `label`: published (shifted Gaussian),
// published-wishart, published-wishart-shifted.
absl::StatusOr<std::unique_ptr<RoundPolicy>> MakePublished(const PolicyOptions& options,
                                                           std::string_view label);

// A served model of mode JOINT. `label`: epochs, blt, or auto, which is AUTO: the one with the
// least predicted error.
absl::StatusOr<std::unique_ptr<RoundPolicy>> MakeProven(const PolicyOptions& options,
                                                        std::string_view label);

}  // namespace bandana::lab
