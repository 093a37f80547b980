#include "common/judging/judged_unit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bandana {
namespace {

// Below it mass on arms without propensity is a rounding.
constexpr double kUncoveredMin = 1e-12;

// q' so that c (y' - q) >= -k for all y' in [0, 1].
double Cut(double q, double c, double k) {
  if (c > 0) return std::min(q, k / c);
  if (c < 0) return std::max(q, 1 + k / c);
  return q;
}

}  // namespace

void PairUnit::SetSlot(std::size_t at, const UnitLaws& one, const UnitLaws* two) {
  const JudgedSlot& judged = unit_->slots[at];
  const LoggedSlot& logged = judged.view.slot();
  Slot& slot = slots_[at];
  slot.one = &one.slots[at];
  slot.two = two == nullptr ? nullptr : &two->slots[at];
  slot.before_one = at == 0 ? 1 : slots_[at - 1].chosen_one;
  slot.before_two = two == nullptr ? 0 : at == 0 ? 1 : slots_[at - 1].chosen_two;
  slot.chosen_one = slot.before_one * slot.one->chance / logged.chosen_p;
  slot.chosen_two = two == nullptr ? 0 : slot.before_two * slot.two->chance / logged.chosen_p;
  slot.covered_one = 1;
  slot.covered_two = two == nullptr ? 0 : 1;
  if (!judged.whole) return;
  for (std::size_t arm = 0; arm < logged.p.size(); ++arm) {
    if (logged.p[arm] > 0) continue;
    const double pi_one = slot.one->law[arm];
    const double pi_two = slot.two == nullptr ? 0 : slot.two->law[arm];
    slot.covered_one -= pi_one;
    slot.covered_two -= pi_two;
    const double more = pi_one - pi_two;
    if (std::abs(more) < kUncoveredMin) continue;
    (more > 0 ? gained_ : lost_) += std::abs(more);
  }
}

void PairUnit::Set(const JudgedUnit& unit, const UnitLaws& one, const UnitLaws* two,
                   ListWeights weights) {
  unit_ = &unit;
  weights_ = unit.count > 1 ? weights : ListWeights::kPrefix;
  has_two_ = two != nullptr;
  gained_ = lost_ = covered_ = 0;
  if (slots_.size() < unit.count) slots_.resize(unit.count);
  for (std::size_t at = 0; at < unit.count; ++at) {
    SetSlot(at, one, two);
    covered_ += slots_[at].covered_one - slots_[at].covered_two;
  }
  if (weights_ == ListWeights::kPrefix) return;
  for (std::size_t at = 0; at + 1 < unit.count; ++at) {
    slots_[at].chosen_one = slots_[unit.count - 1].chosen_one;
    slots_[at].chosen_two = slots_[unit.count - 1].chosen_two;
  }
}

double PairUnit::Ips() const {
  double sum = 0;
  for (std::size_t at = 0; at < unit_->count; ++at) {
    sum += slots_[at].chosen() * unit_->slots[at].y;
  }
  return sum;
}

double PairUnit::Dr(const RewardScale& scale) const {
  double sum = 0;
  for (std::size_t at = 0; at < unit_->count; ++at) {
    const JudgedSlot& judged = unit_->slots[at];
    const LoggedSlot& logged = judged.view.slot();
    const double c = slots_[at].chosen();
    sum += c * judged.y;
    if (!Predicted(at)) continue;
    const auto predicted = [&](std::size_t arm) {
      return scale.low + scale.width() * judged.q01[arm];
    };
    sum -= c * predicted(logged.chosen);
    for (std::size_t arm = 0; arm < logged.p.size(); ++arm) {
      const double p = logged.p[arm];
      if (p > 0) sum += p * Coefficient(slots_[at], arm, p, 1) * predicted(arm);
    }
  }
  return sum;
}

double PairUnit::Dm(const RewardScale& scale) const {
  double sum = 0;
  for (std::size_t at = 0; at < unit_->count; ++at) {
    const JudgedSlot& judged = unit_->slots[at];
    if (!judged.whole || judged.q01.empty()) return std::numeric_limits<double>::quiet_NaN();
    for (std::size_t arm = 0; arm < judged.q01.size(); ++arm) {
      sum += Coefficient(slots_[at], arm, 1, 1) * (scale.low + scale.width() * judged.q01[arm]);
    }
  }
  return sum;
}

BoundTerm PairUnit::Step(bool upper, double k, bool predictions) const {
  const double sign = upper ? -1 : 1;
  // The policies whose rewards count y' and 1 - y'.
  const bool has_minus = upper || has_two_;
  const double k_slot = k / static_cast<double>(unit_->count);
  BoundTerm term;
  for (std::size_t at = 0; at < unit_->count; ++at) {
    const JudgedSlot& judged = unit_->slots[at];
    const LoggedSlot& logged = judged.view.slot();
    const Slot& slot = slots_[at];
    if (!predictions || !Predicted(at)) {
      const double plus = upper ? slot.chosen_two : slot.chosen_one;
      const double minus = upper ? slot.chosen_one : slot.chosen_two;
      term.residual += plus * judged.y01 + minus * (1 - judged.y01);
      if (has_minus) {
        term.centre -= unit_->count > 1 ? 1 : upper ? slot.covered_one : slot.covered_two;
      }
      continue;
    }
    double sum = 0, chosen_cut = 0;
    for (std::size_t arm = 0; arm < logged.p.size(); ++arm) {
      const double p = logged.p[arm];
      if (!(p > 0)) continue;
      const double c = Coefficient(slot, arm, p, sign);
      const double cut = Cut(judged.q01[arm], c, k_slot);
      sum += p * c * cut;
      if (arm == logged.chosen) chosen_cut = cut;
    }
    term.residual += sign * slot.chosen() * (judged.y01 - chosen_cut);
    if (at == 0) {
      term.centre += sum;
    } else {
      // In a later slot the expected value follows from arms that were drawn before: it is no
      // centre, but, with the mass of the policy that counts 1 - y', never negative.
      term.residual += sum + (upper ? slot.before_one : slot.before_two);
      if (has_minus) term.centre -= 1;
    }
  }
  return term;
}

double PairUnit::DesignSquare(bool upper, double k, bool predictions, double mean01) const {
  const double sign = upper ? -1 : 1;
  const double k_slot = k / static_cast<double>(unit_->count);
  double square = 0;
  for (std::size_t at = 0; at < unit_->count; ++at) {
    const JudgedSlot& judged = unit_->slots[at];
    const LoggedSlot& logged = judged.view.slot();
    const Slot& slot = slots_[at];
    if (!predictions || !Predicted(at)) {
      const double plus = upper ? slot.chosen_two : slot.chosen_one;
      const double minus = upper ? slot.chosen_one : slot.chosen_two;
      square += plus * plus * mean01 + minus * minus * (1 - mean01);
      continue;
    }
    for (std::size_t arm = 0; arm < logged.p.size(); ++arm) {
      const double p = logged.p[arm];
      if (!(p > 0)) continue;
      const double c = Coefficient(slot, arm, p, sign);
      const double q = std::max(judged.q01[arm], mean01);
      const double off = q - Cut(judged.q01[arm], c, k_slot);
      square += p * c * c * (q * (1 - q) + off * off);
    }
  }
  return square;
}

bool PairUnit::AddTerms(double mean01, TermSums& plain, TermSums& careful) const {
  bool seen = false;
  for (std::size_t at = 0; at < unit_->count; ++at) {
    const JudgedSlot& judged = unit_->slots[at];
    const LoggedSlot& logged = judged.view.slot();
    if (!Predicted(at)) {
      const double term = slots_[at].chosen() * (judged.y01 - mean01);
      plain.AddSeen(term);
      careful.AddSeen(term);
      seen = true;
      continue;
    }
    for (std::size_t arm = 0; arm < logged.p.size(); ++arm) {
      const double p = logged.p[arm];
      if (!(p > 0)) continue;
      const double c = Coefficient(slots_[at], arm, p, 1);
      plain.AddExpected(p, c, judged.q01[arm]);
      careful.AddExpected(p, c, std::max(judged.q01[arm], mean01));
    }
  }
  return seen;
}

double PairUnit::weight() const { return slots_[unit_->count - 1].chosen(); }

}  // namespace bandana
