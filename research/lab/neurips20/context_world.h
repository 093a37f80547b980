// The world of local contexts: fresh arms every round, one parameter, a linear or a logistic link.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ranking/link.h"
#include "tools/base/settings.h"

namespace bandana::lab {

// `arms` (10) fresh uniformly random unit arms in R^`dimension` (5) per round, theta* a random
// direction of length `theta_l2`. Linear: r = x . theta* + N(0, `noise`^2), clipped to [-1, 1];
// logistic: r = 1 with probability mu(x . theta*), else 0. Round i is a pure function of (settings,
// seed, i). Immutable. Threads: safe.
class ContextWorld {
 public:
  struct Options {
    Link link = Link::kLinear;
    int dimension = 5;
    int arms = 10;
    double theta_l2 = 1;
    double noise = 0.05;
    std::uint64_t seed = 0;
  };
  // Takes the keys above. Errors: INVALID_ARGUMENT.
  static absl::StatusOr<ContextWorld> Create(Link link, double theta_l2, Settings& settings,
                                             std::uint64_t seed);

  const Options& options() const { return options_; }
  // Standard deviation of a reward about its expectation, at most.
  double reward_stddev() const { return options_.link == Link::kLinear ? options_.noise : 0.5; }

  struct Round {
    std::vector<double> features;  // arms x d, row-major
    std::vector<double> expected;  // mu(x . theta*), hidden from learners
  };
  void RoundAt(std::uint64_t index, Round& out) const;
  double RewardAt(std::uint64_t index, const Round& round, int arm) const;

 private:
  explicit ContextWorld(const Options& options);
  Options options_;
  std::vector<double> theta_;
};

}  // namespace bandana::lab
