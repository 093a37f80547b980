// Mean and deviation of a sum of terms, in one pass.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace bandana {

// By Welford's recursion, which loses no digits where the mean is large.
class Moments {
 public:
  void Add(double term) {
    ++count_;
    const double off = term - mean_;
    mean_ += off / static_cast<double>(count_);
    squares_ += off * (term - mean_);
  }
  std::uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  // With count - 1; NaN below two terms.
  double deviation() const {
    return count_ < 2 ? std::numeric_limits<double>::quiet_NaN()
                      : std::sqrt(squares_ / static_cast<double>(count_ - 1));
  }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace bandana
