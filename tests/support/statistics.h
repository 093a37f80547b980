// Random tests with exact error probabilities: no normal or chi-square approximation anywhere, so
// the stated alpha holds at every sample size. Tail sums are long double, relative error below 1e-9
// (n <= 1e9).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana::testing {

// P[X >= k] and P[X <= k] for X ~ Binomial(n, p), 0 <= p <= 1.
double BinomialUpperTail(std::uint64_t k, std::uint64_t n, double p);
double BinomialLowerTail(std::uint64_t k, std::uint64_t n, double p);

// Is a count of n trials compatible with probability p? Two-sided, at most alpha/2 per side.
class BinomialTest {
 public:
  // Errors: INVALID_ARGUMENT n = 0, p outside [0, 1], alpha outside (0, 1), or a sample so small
  // that no count is rejected.
  static absl::StatusOr<BinomialTest> Create(std::uint64_t n, double p, double alpha);

  bool Accepts(std::uint64_t count) const { return low_ <= count && count <= high_; }
  std::uint64_t low() const { return low_; }
  std::uint64_t high() const { return high_; }
  // Chance to reject when the probability is `p`: the power against a mutant, or the real alpha for
  // the p of Create.
  double RejectionProbability(double p) const;

 private:
  BinomialTest(std::uint64_t n, std::uint64_t low, std::uint64_t high)
      : n_(n), low_(low), high_(high) {}
  std::uint64_t n_;
  std::uint64_t low_;
  std::uint64_t high_;
};

// Do counts over cells follow a given law? One BinomialTest a cell and one at each of 64 quantiles
// of the cells' order, alpha shared out equally among them (Bonferroni: the total is at most
// alpha).
class FitTest {
 public:
  // Errors: INVALID_ARGUMENT probabilities that do not sum to 1 within 1e-9; n or alpha as in
  // BinomialTest, judged at the quantiles (single cells may be too rare to ever reject).
  static absl::StatusOr<FitTest> Create(std::uint64_t n, std::span<const double> probabilities,
                                        double alpha);

  // counts: one a cell, summing to n.
  bool Accepts(std::span<const std::uint64_t> counts) const;
  // Lower bound of the chance to reject when the law is `probabilities`: the best single
  // comparison's.
  double PowerAtLeast(std::span<const double> probabilities) const;

 private:
  struct Event {
    std::size_t begin;  // cells [begin, end)
    std::size_t end;
    BinomialTest test;
  };
  std::uint64_t n_ = 0;
  std::size_t cells_ = 0;
  std::vector<Event> events_;
};

}  // namespace bandana::testing
