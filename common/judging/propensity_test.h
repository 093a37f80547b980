// Whether the arms of a log were drawn by the propensities that it claims.
#pragma once

#include <cstdint>
#include <string>

#include "common/judging/anytime_bound.h"
#include "common/judging/judged_unit.h"

namespace bandana {

// Two tests, each of error kError if the propensities are right, at every length:
// - of draws whose propensities are all known, two sequences of mean 0 that share the error:
//   p(A) - sum_a p(a)^2, in [-1, 1], finds arms that were likelier than p says; and, with
//   w(a) = min(1 / (n p(a)), cap), w(A) - sum_a p(a) w(a), in [-1, cap], finds a share of
//   exploration that is not p's, also where p is nearly flat but for it. The cap is the largest
//   that an arm of the first draws had, at most kWeightMax;
// - of others: w = 1 / (n p(A)) has mean 1. A mean above 1 is found at any weights. A mean below 1,
//   as where p is 1 in every line, is only tested while no weight exceeds the larger of kWeightMax
//   and twice the largest of the first draws. It may also say that some arms have next to no
//   chance.
// Draws of a baseline and of the only arm on offer say nothing, and neither do arms that were cut.
// The first draws, which choose k and r, are left out. Not thread-safe.
// Source: docs/design/judging.md#are-the-propensities-right.
class PropensityTest {
 public:
  static constexpr double kError = 1e-6;
  static constexpr double kTermsMin = 20;       // below it: not tested
  static constexpr double kTermsSeenMin = 100;  // where the chosen arm's propensity alone is known
  static constexpr double kWeightMax = 20;

  enum class Verdict { kRight, kWrong, kNotTested };

  // `design`: the decision is one of the first, for k and r alone.
  void Add(const JudgedUnit& unit, bool design);
  // `planned`: decisions that will come with design = false.
  void EndDesign(double planned);

  Verdict verdict() const;
  // A sentence with the mean that was found; empty unless kWrong.
  std::string Explain() const;

 private:
  // Both sides of one sequence.
  struct Sequence {
    AnytimeBound above, below;  // mean > 0, mean < 0
    double design_square = 0;
    double second = 0, fourth = 0;
    double sum = 0;
    std::uint64_t terms = 0;
    bool crossed = false;
    double carried() const { return fourth > 0 ? second * second / fourth : 0; }
  };
  // The sequence that says kWrong; null: none.
  const Sequence* FirstWrong() const;
  // The term value(A) - sum_a p(a) value(a).
  template <typename Value>
  static void AddCentred(const LoggedSlot& slot, const Value& value, bool design,
                         Sequence& sequence);
  void AddShares(const LoggedSlot& slot, bool design);
  void AddAlone(const LoggedSlot& slot, bool design);
  static void AddTerm(double term, bool below, double log_threshold, Sequence& sequence);

  Sequence whole_, shares_, alone_;
  std::uint64_t design_ = 0;
  double cap_ = 1;  // of the weights of shares_
  double weight_max_ = kWeightMax;
  bool heavy_ = false;  // a weight above weight_max_ came
};

}  // namespace bandana
