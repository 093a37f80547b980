#include "common/judging/propensity_test.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "common/judging/mixture.h"

namespace bandana {
namespace {

// Each of the two sides has half of the error.
const double kLogThreshold = std::log(2 / PropensityTest::kError);

}  // namespace

void PropensityTest::AddTerm(double term, bool below, Sequence& sequence) {
  sequence.above.Add({.centre = 0, .residual = term});
  if (below) sequence.below.Add({.centre = 0, .residual = -term});
  sequence.sum += term;
  ++sequence.terms;
  sequence.crossed = sequence.crossed || sequence.above.Excludes(0, kLogThreshold) ||
                     sequence.below.Excludes(0, kLogThreshold);
}

void PropensityTest::AddWhole(const LoggedSlot& slot, bool design) {
  double mean = 0, square = 0, fourth = 0;
  for (const double p : slot.p) mean += p * p;
  for (const double p : slot.p) {
    const double off = p - mean;
    square += p * off * off;
    fourth += p * off * off * off * off;
  }
  if (design) {
    whole_.design_square += square;
    return;
  }
  // Certain draws, and laws of equal propensities, say nothing.
  if (!(square > 0)) return;
  whole_.second += square;
  whole_.fourth += fourth;
  AddTerm(slot.chosen_p - mean, /*below=*/true, whole_);
}

void PropensityTest::AddAlone(const LoggedSlot& slot, bool design) {
  const double weight = 1 / (slot.offered * slot.chosen_p);
  const double term = weight - 1;
  if (design) {
    alone_.design_square += term * term;
    weight_max_ = std::max(weight_max_, 2 * weight);
    return;
  }
  alone_.second += term * term;
  alone_.fourth += term * term * term * term;
  heavy_ = heavy_ || weight > weight_max_;
  AddTerm(term, /*below=*/!heavy_, alone_);
}

void PropensityTest::Add(const JudgedUnit& unit, bool design) {
  if (design) ++design_;
  for (std::size_t at = 0; at < unit.count; ++at) {
    const JudgedSlot& judged = unit.slots[at];
    const LoggedSlot& slot = judged.view.slot();
    if (slot.baseline || slot.offered < 2) continue;
    if (judged.whole) {
      AddWhole(slot, design);
    } else if (at == 0 && slot.p.empty()) {
      AddAlone(slot, design);
    }
  }
}

void PropensityTest::EndDesign(double planned) {
  const double count = std::max<double>(1, static_cast<double>(design_));
  const auto bound = [&](const Sequence& sequence, double k) {
    const double v = sequence.design_square / count * planned / ((k + 1) * (k + 1));
    return AnytimeBound(k, MixtureParameter(v, kLogThreshold));
  };
  // Terms of the first are at least -1 as they are.
  whole_.above = whole_.below = bound(whole_, 0);
  alone_.above = bound(alone_, 1);
  alone_.below = bound(alone_, weight_max_);
}

PropensityTest::Verdict PropensityTest::verdict() const {
  const bool whole = whole_.carried() >= kTermsMin;
  const bool alone = alone_.carried() >= kTermsSeenMin;
  if ((whole && whole_.crossed) || (alone && alone_.crossed)) return Verdict::kWrong;
  return whole || alone ? Verdict::kRight : Verdict::kNotTested;
}

std::string PropensityTest::Explain() const {
  if (verdict() != Verdict::kWrong) return "";
  if (whole_.crossed && whole_.carried() >= kTermsMin) {
    const double off = whole_.sum / static_cast<double>(whole_.terms);
    return absl::StrFormat(
        "p: the arms were not drawn by it: on average the chosen arm's p is %.3g %s what a draw by "
        "p gives (test at error 1e-6, %d draws)",
        std::abs(off), off > 0 ? "above" : "below", whole_.terms);
  }
  return absl::StrFormat(
      "p: the arms were not drawn by it: 1 / (offered p) is %.3g on average, where 1 is due, "
      "or some arms have next to no chance (test at error 1e-6, %d draws)",
      1 + alone_.sum / static_cast<double>(alone_.terms), alone_.terms);
}

}  // namespace bandana
