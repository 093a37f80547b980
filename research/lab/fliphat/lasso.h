// The sparsity-agnostic lasso bandit [OIZ21]: greedy on a lasso estimate of all rounds. Not
// private.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bandana::lab {

// Coordinate descent for |y - X theta|^2 / (2 n) + penalty |theta|_1, warm-started, over the rows
// so far. Not thread-safe.
class LassoBandit {
 public:
  explicit LassoBandit(int dimension);

  // One round. Fits anew whenever the number of rounds has grown by an eighth since the last fit,
  // at penalty lambda_0 sqrt((4 ln t + 2 ln d) / t), lambda_0 = `kPenalty`.
  void Learn(std::span<const double> x, double reward);
  const std::vector<double>& theta() const { return theta_; }

  // As Learn does, at once and at this penalty. Cost: O(n d) a sweep over all coordinates, few of
  // them; between those only nonzero ones are swept.
  void Fit(double penalty);

  static constexpr double kPenalty = 0.1;

 private:
  double Sweep(std::span<const int> coordinates, double penalty);

  std::size_t dimension_;
  std::vector<float> columns_;  // capacity_ x d, by coordinate
  std::size_t capacity_ = 0;
  std::vector<double> residuals_;  // y - X theta
  std::vector<double> squares_;    // |column|^2
  std::vector<double> theta_;
  std::uint64_t next_fit_ = 8;
};

}  // namespace bandana::lab
