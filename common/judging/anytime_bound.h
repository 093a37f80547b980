// A lower bound of a running mean that holds at every length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bandana {

// A term of a sum, in two parts: what was known before the draw, and what was not.
struct BoundTerm {
  double centre = 0;
  double residual = 0;  // >= -k
};

// Sums terms whose mean, given the past, is at most m_t, and bounds the mean of the m_t from below:
//
//   S += (centre + residual) / (k+1),  V += (residual / (k+1))^2,  t += 1,
//   s(m) = S - t m / (k+1),  bound: the m at which log M(s(m), V) = log(1/alpha).
//
// The bound is wrong at any length with probability at most alpha, if k and r depend on nothing
// that came after the first term. State: a few numbers. Not thread-safe.
// Source: docs/design/judging.md#the-anytime-interval, [KMR21], [WWRKM22].
class AnytimeBound {
 public:
  AnytimeBound() = default;
  // k >= 0, r > 0.
  AnytimeBound(double k, double r) : k_(k), r_(r) {}

  void Add(const BoundTerm& term);
  // The bound; -infinity without terms.
  double Lower(double log_threshold) const;
  // How far the bound would lie below the mean of the terms after so many, if those to come are
  // like those so far; infinity without terms.
  double HalfWidth(double terms, double log_threshold) const;
  // log M at that mean, at least 0: above `log_threshold` where the bound excludes it.
  double LogWealth(double mean) const;
  // LogWealth(mean) >= log_threshold > 0, mostly without the gamma functions.
  bool Excludes(double mean, double log_threshold) const;

  double k() const { return k_; }
  double r() const { return r_; }
  std::uint64_t terms() const { return terms_; }

 private:
  double Excess(double mean) const {  // s(m)
    return sum_ - static_cast<double>(terms_) * mean / (k_ + 1);
  }

  double k_ = 1;
  double r_ = 1;
  double sum_ = 0;
  double squares_ = 0;
  std::uint64_t terms_ = 0;
};

// Chooses k and r from terms that the bound will not have. Not thread-safe.
class BoundDesign {
 public:
  static constexpr std::array<double, 8> kCuts = {1, 2, 5, 10, 20, 50, 100, 200};

  // The expected square of the residual of one more decision, were k = kCuts[cut].
  void Add(std::size_t cut, double square) { squares_[cut] += square; }
  void CountDecision() { ++decisions_; }
  // For a bound over `planned` decisions: the k of the least
  //   sqrt(2 L v / t) + 2 (k+1) L / (3 t),  v the mean square, L = log_threshold, t = planned,
  // and r by MixtureParameter(v t / (k+1)^2).
  AnytimeBound Choose(double planned, double log_threshold) const;

 private:
  std::array<double, kCuts.size()> squares_{};
  std::uint64_t decisions_ = 0;
};

}  // namespace bandana
