// A logged decision as estimators see it: rewards and predictions on one scale, laws of policies
// beside those of the log.
#pragma once

#include <cstddef>
#include <vector>

#include "common/judging/anytime_bound.h"
#include "common/judging/judged_policy.h"

namespace bandana {

// The ends of a reward as logged, low < high: of raw rewards their range, of released ones the
// least and the greatest value of the randomizer. y' = (y - low) / (high - low) is in [0, 1]. For a
// released y, E[y' | r] = (r - low) / (high - low), so an interval for the mean of y' maps back to
// one for the mean of r: docs/design/judging.md#released-rewards.
struct RewardScale {
  double low = 0;
  double high = 1;
  double width() const { return high - low; }
  double To01(double y) const { return (y - low) / width(); }
};

struct JudgedSlot {
  SlotView view;
  bool whole = false;       // the propensities of all arms on offer are known
  double y = 0;             // the reward as logged
  double y01 = 0;           // y'
  std::vector<double> q01;  // predictions of y' in [0, 1], n of them; empty: none
};

// The slots of one decision. Buffers are used again: `count` says how many slots there are.
struct JudgedUnit {
  std::vector<JudgedSlot> slots;
  std::size_t count = 0;
};

// The choices of a policy in one decision.
struct UnitLaws {
  struct Slot {
    std::vector<double> law;  // of the arms; empty where the line has no propensities of all
    double chance = 0;        // of the chosen arm
  };
  bool defined = false;
  std::vector<Slot> slots;
};

// How many terms carry the variance of a sum.
struct TermSums {
  double second = 0, fourth = 0;  // moments, summed over terms
  // The term c (y' - m) of a reward that is 0 or 1 with mean m, drawn with probability p.
  void AddExpected(double p, double c, double m) {
    const double rest = 1 - m;
    second += p * c * c * m * rest;
    fourth += p * c * c * c * c * m * rest * (rest * rest * rest + m * m * m);
  }
  void AddSeen(double term) {
    second += term * term;
    fourth += term * term * term * term;
  }
  double terms() const { return fourth > 0 ? second * second / fourth : 0; }
};

enum class ListWeights {
  kPrefix,  // a slot's reward may depend on this slot and those before
  kWhole,   // on all slots
};

// The coefficients of one decision for the value of policy `one`, or for its difference to `two`:
// with W the product of pi(A) / p(A) over the slots up to j (of all slots: kWhole),
// c_j = W_one - W_two, W_two = 0 without a second policy.
//
// Source: prefix products for slots: reward interaction, [MBSC20].
class PairUnit {
 public:
  // The arguments must outlive it; `two` may be null. Buffers are used again by Set.
  void Set(const JudgedUnit& unit, const UnitLaws& one, const UnitLaws* two, ListWeights weights);

  // sum_j c_j y_j, reward units; its mean is the value. [DELL14] IPS.
  double Ips() const;
  // sum_j c_j (y_j - q_j(A_j)) + sum_a p_j c_j(a) q_j(a), reward units; where a slot has no
  // predictions or not all propensities, c_j y_j in its place. [DELL14] DR.
  double Dr(const RewardScale& scale) const;
  // sum_j sum_a (W_{j-1} pi_one(a) - ...) q_j(a), reward units: DM. NaN where there is none.
  double Dm(const RewardScale& scale) const;

  // One term of a lower bound for sum_j c_j y'_j, or (`upper`) for its negative, with residual at
  // least -k. With predictions, cut so that they keep the residual there, if `predictions`; else,
  // and where a slot has none, by residuals that are never negative.
  // docs/design/judging.md#the-anytime-interval.
  BoundTerm Step(bool upper, double k, bool predictions) const;
  // The expected square of Step's residual, for the choice of k. `mean01`: a guess of y' where
  // there are no predictions.
  double DesignSquare(bool upper, double k, bool predictions, double mean01) const;

  // Adds sum_a p c^2 m2 and sum_a p c^4 m4, the expected second and fourth moments of the terms of
  // DR: m2 = m (1 - m), m4 = m (1 - m) ((1 - m)^3 + m^3), m the prediction q' in `plain`, the
  // larger of q' and `mean01` in `careful`. Where only the chosen arm's propensity is known, what
  // was seen. True: this was so.
  bool AddTerms(double mean01, TermSums& plain, TermSums& careful) const;

  double weight() const;  // c of the last slot: W_one, or W_one - W_two
  double weight_one(std::size_t slot) const { return slots_[slot].chosen_one; }
  double weight_two(std::size_t slot) const { return slots_[slot].chosen_two; }
  bool has_two() const { return has_two_; }
  std::size_t slots() const { return unit_->count; }
  const JudgedUnit& unit() const { return *unit_; }

  // sum over arms of p = 0 of |pi_one - pi_two|, and of its positive and negative parts.
  double uncovered() const { return gained_ + lost_; }
  double gained() const { return gained_; }
  double lost() const { return lost_; }
  // E[sum_j c_j]: the number of slots less uncovered mass, or 0 less for a difference.
  double covered() const { return covered_; }

 private:
  struct Slot {
    const UnitLaws::Slot* one = nullptr;
    const UnitLaws::Slot* two = nullptr;  // or null
    double before_one = 1;                // the product over the slots before
    double before_two = 0;
    double chosen_one = 0;  // the product up to this slot, or over all
    double chosen_two = 0;
    double covered_one = 1;  // mass on arms of p > 0, given the slots before
    double covered_two = 0;
    double chosen() const { return chosen_one - chosen_two; }
  };
  // c(a) of the slot for p(a) > 0, with its sign.
  static double Coefficient(const Slot& slot, std::size_t arm, double p, double sign) {
    const double two = slot.two == nullptr ? 0 : slot.before_two * slot.two->law[arm];
    return sign * (slot.before_one * slot.one->law[arm] - two) / p;
  }
  void SetSlot(std::size_t at, const UnitLaws& one, const UnitLaws* two);
  bool Predicted(std::size_t at) const {
    return weights_ == ListWeights::kPrefix && unit_->slots[at].whole &&
           !unit_->slots[at].q01.empty();
  }

  const JudgedUnit* unit_ = nullptr;
  ListWeights weights_ = ListWeights::kPrefix;
  bool has_two_ = false;
  double gained_ = 0;
  double lost_ = 0;
  double covered_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace bandana
