#include "common/ranking/policies/selection_rule.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "common/base/check.h"
#include "common/ranking/policies/draw_arm.h"

namespace bandana {

std::vector<RankDraw> DrawRanking(const SelectionRule& rule, const Candidates& arms,
                                  std::span<const double> uniforms) {
  BANDANA_CHECK(!uniforms.empty() && uniforms.size() <= arms.means.size());
  std::vector<int> left(arms.means.size());
  std::iota(left.begin(), left.end(), 0);
  std::vector<double> law;
  rule.Law(arms, left, law);
  const std::vector<double> first = law;  // by position, as nothing is taken yet
  std::vector<RankDraw> ranking;
  for (const double uniform : uniforms) {
    if (!ranking.empty()) rule.Law(arms, left, law);
    const int drawn = DrawArm(law, uniform);
    const int position = left[drawn];
    // A sum of parts may be above 1 by rounding.
    ranking.push_back({.position = position,
                       .first = std::min(first[position], 1.0),
                       .given = std::min(law[drawn], 1.0)});
    left.erase(left.begin() + drawn);
  }
  return ranking;
}

}  // namespace bandana
