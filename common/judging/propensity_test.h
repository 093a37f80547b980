// Whether the arms of a log were drawn by the propensities that it claims.
#pragma once

#include <cstdint>
#include <string>

#include "common/judging/anytime_bound.h"
#include "common/judging/judged_unit.h"

namespace bandana {

// Two tests, each of error kError if the propensities are right, at every length:
// - of draws whose propensities are all known: p(A) - sum_a p(a)^2 has mean 0 and lies in [-1, 1];
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
  // "drawn arms have a propensity 0.1 above what p says on average"; empty unless kWrong.
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
  void AddWhole(const LoggedSlot& slot, bool design);
  void AddAlone(const LoggedSlot& slot, bool design);
  static void AddTerm(double term, bool below, Sequence& sequence);

  Sequence whole_, alone_;
  std::uint64_t design_ = 0;
  double weight_max_ = kWeightMax;
  bool heavy_ = false;  // a weight above weight_max_ came
};

}  // namespace bandana
