// Policies that draw the arm to show: the law of each, and rankings by it. docs/design/policies.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bandana {

// The values that a policy may choose by: released values of the n arms on offer, reward units.
struct Candidates {
  std::span<const double> means;   // x . m_u
  std::span<const double> scores;  // mean + alpha * width
  // The arms' rewards in each of SelectionRule::draws() joint draws of the posterior, draws x n,
  // row-major; empty where the rule asks for none.
  std::span<const double> draws;
  // Whether each arm is cold (0 or 1); empty where no rule asks.
  std::span<const std::uint8_t> cold = {};
};

// One object per configured policy. A value that is NaN (the estimate makes no sense) counts as
// -infinity. Immutable. Threads: safe.
class SelectionRule {
 public:
  virtual ~SelectionRule() = default;
  // One line for people.
  virtual std::string words() const = 0;
  // Draws of the posterior that the law is made of; 0: none.
  virtual int draws() const { return 0; }
  // Whether it goes by Candidates::cold.
  virtual bool favours_cold() const { return false; }
  // Whether it ranks by Candidates::scores alone, best first, equal ones in any order.
  virtual bool ranks_by_score() const { return false; }

  // The law of the next arm among those that no rank has yet: `left` are their positions, at least
  // one. `law` becomes as long, entries in [0, 1] that sum to 1 but for rounding (2^-40). A pure
  // function of its arguments: exact as a probability, because the arm is drawn from this very
  // array. Cost: O(left), of a rule with draws O(draws left).
  virtual void Law(const Candidates& arms, std::span<const int> left,
                   std::vector<double>& law) const = 0;
};

// One rank of a ranking.
struct RankDraw {
  int position = 0;
  double first = 0;  // probability that the policy ranks this arm first
  double given = 0;  // probability that it puts it at this rank, given the ranks before; above 0
};

// Draws a ranking: each rank by the law over the arms that no rank before has. `uniforms`: one per
// rank, independent, uniform on [0, 1), secret until they are used and made of nothing that is
// private; at least 1 and at most n of them. Cost: a law per rank.
std::vector<RankDraw> DrawRanking(const SelectionRule& rule, const Candidates& arms,
                                  std::span<const double> uniforms);

}  // namespace bandana
