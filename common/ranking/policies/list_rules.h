// Rules for a whole list, beside the law of its policy: arms at fixed ranks, and at most so many
// arms that are alike. The law of each rank stays exact.
#pragma once

#include <span>
#include <vector>

#include "common/ranking/policies/selection_rule.h"

namespace bandana {

struct PinnedArm {
  int rank = 0;      // 0 = first
  int position = 0;  // among the arms on offer
};

// At most `count` >= 1 arms of one class.
struct ClassLimit {
  std::vector<int> classes;  // n: of each arm on offer, from 0 on; -1: of none
  int count = 1;
};

struct ListRules {
  std::vector<PinnedArm> pins;  // ranks differ, and positions
  std::vector<ClassLimit> limits;
  bool any() const { return !pins.empty() || !limits.empty(); }
};

// The probability of an arm that a rank could not get, in what DrawList tells of laws.
inline constexpr double kArmLeftOut = -1;

// Draws a list as DrawRanking draws a ranking, where each rank but the pinned ones is drawn among
// the arms that no rank before has, that are not pinned, and of whose classes there are fewer than
// the limits say. Pinned arms count from the start. Where no such arm is left the pins that follow
// move up, and the list ends. RankDraw::first is 1 for an arm that is pinned to the first rank, and
// `given` for every pinned one, so the product of `given` is the probability of the whole list.
//
// `laws`: as many of the first ranks are told the very array that their arm was drawn from, n
// probabilities by position, kArmLeftOut for an arm that the rank could not get. Ranks that the
// list does not have are left empty.
std::vector<RankDraw> DrawList(const SelectionRule& rule, const Candidates& arms,
                               const ListRules& rules, std::span<const double> uniforms,
                               std::span<std::vector<double>> laws = {});

}  // namespace bandana
