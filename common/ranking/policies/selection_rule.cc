#include "common/ranking/policies/selection_rule.h"

#include "common/ranking/policies/list_rules.h"

namespace bandana {

std::vector<RankDraw> DrawRanking(const SelectionRule& rule, const Candidates& arms,
                                  std::span<const double> uniforms) {
  return DrawList(rule, arms, {}, uniforms);
}

}  // namespace bandana
