#include "common/judging/propensity_test.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "common/judging/mixture.h"

namespace bandana {
namespace {

// Each of the two sides has half of a sequence's error.
const double kLogThreshold = std::log(2 / PropensityTest::kError);
// Each of the two sequences of whole laws has half of the error.
const double kLogThresholdWhole = std::log(4 / PropensityTest::kError);

}  // namespace

void PropensityTest::AddTerm(double term, bool below, double log_threshold, Sequence& sequence) {
  sequence.above.Add({.centre = 0, .residual = term});
  if (below) sequence.below.Add({.centre = 0, .residual = -term});
  sequence.sum += term;
  ++sequence.terms;
  sequence.crossed = sequence.crossed || sequence.above.Excludes(0, log_threshold) ||
                     sequence.below.Excludes(0, log_threshold);
}

template <typename Value>
void PropensityTest::AddCentred(const LoggedSlot& slot, const Value& value, bool design,
                                Sequence& sequence) {
  double mean = 0, square = 0, fourth = 0;
  for (const double p : slot.p) mean += p > 0 ? p * value(p) : 0;
  for (const double p : slot.p) {
    if (!(p > 0)) continue;
    const double off = value(p) - mean;
    square += p * off * off;
    fourth += p * off * off * off * off;
  }
  if (design) {
    sequence.design_square += square;
    return;
  }
  // Certain draws, and laws of equal propensities, say nothing.
  if (!(square > 0)) return;
  sequence.second += square;
  sequence.fourth += fourth;
  AddTerm(value(slot.chosen_p) - mean, /*below=*/true, kLogThresholdWhole, sequence);
}

void PropensityTest::AddShares(const LoggedSlot& slot, bool design) {
  const double offered = slot.offered;
  const auto weight = [offered](double p) { return std::min(1 / (offered * p), kWeightMax); };
  for (const double p : slot.p) {
    if (design && p > 0) cap_ = std::max(cap_, weight(p));
  }
  const auto capped = [&](double p) { return std::min(weight(p), cap_); };
  AddCentred(slot, capped, design, shares_);
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
  AddTerm(term, /*below=*/!heavy_, kLogThreshold, alone_);
}

void PropensityTest::Add(const JudgedUnit& unit, bool design) {
  if (design) ++design_;
  for (std::size_t at = 0; at < unit.count; ++at) {
    const JudgedSlot& judged = unit.slots[at];
    const LoggedSlot& slot = judged.view.slot();
    if (slot.baseline || slot.offered < 2) continue;
    if (judged.whole) {
      AddCentred(
          slot, [](double p) { return p; }, design, whole_);
      AddShares(slot, design);
    } else if (at == 0 && slot.p.empty()) {
      AddAlone(slot, design);
    }
  }
}

void PropensityTest::EndDesign(double planned) {
  const double count = std::max<double>(1, static_cast<double>(design_));
  const auto bound = [&](const Sequence& sequence, double k, double log_threshold) {
    const double v = sequence.design_square / count * planned / ((k + 1) * (k + 1));
    return AnytimeBound(k, MixtureParameter(v, log_threshold));
  };
  // Terms are at least -(k + 1). Means of weights are at most 1, so theirs are at least -1.
  whole_.above = whole_.below = bound(whole_, 0, kLogThresholdWhole);
  shares_.above = bound(shares_, 0, kLogThresholdWhole);
  shares_.below = bound(shares_, cap_ - 1, kLogThresholdWhole);
  alone_.above = bound(alone_, 1, kLogThreshold);
  alone_.below = bound(alone_, weight_max_, kLogThreshold);
}

PropensityTest::Verdict PropensityTest::verdict() const {
  if (FirstWrong() != nullptr) return Verdict::kWrong;
  const bool tested = whole_.carried() >= kTermsMin || shares_.carried() >= kTermsMin ||
                      alone_.carried() >= kTermsSeenMin;
  return tested ? Verdict::kRight : Verdict::kNotTested;
}

const PropensityTest::Sequence* PropensityTest::FirstWrong() const {
  if (whole_.crossed && whole_.carried() >= kTermsMin) return &whole_;
  if (shares_.crossed && shares_.carried() >= kTermsMin) return &shares_;
  if (alone_.crossed && alone_.carried() >= kTermsSeenMin) return &alone_;
  return nullptr;
}

std::string PropensityTest::Explain() const {
  const Sequence* wrong = FirstWrong();
  if (wrong == nullptr) return "";
  const double off = wrong->sum / static_cast<double>(wrong->terms);
  const char* side = off > 0 ? "above" : "below";
  if (wrong == &whole_) {
    return absl::StrFormat(
        "p: the arms were not drawn by it: on average the chosen arm's p is %.3g %s what a draw by "
        "p gives (test at error 1e-6, %d draws)",
        std::abs(off), side, wrong->terms);
  }
  if (wrong == &shares_) {
    return absl::StrFormat(
        "p: the arms were not drawn by it: on average 1 / (offered p) of the chosen arm is %.3g "
        "%s what a draw by p gives, so the share of exploration is another one (test at error "
        "1e-6, %d draws)",
        std::abs(off), side, wrong->terms);
  }
  return absl::StrFormat(
      "p: the arms were not drawn by it: 1 / (offered p) is %.3g on average, where 1 is due, "
      "or some arms have next to no chance (test at error 1e-6, %d draws)",
      1 + off, wrong->terms);
}

}  // namespace bandana
