#include "tools/tune/pattern_search.h"

#include <cmath>

#include "common/base/status.h"

namespace bandana {
namespace {

constexpr double kFirstFactor = 4;
constexpr double kLastFactor = 1.0905;  // 2^(1/8)

}  // namespace

absl::StatusOr<SearchResult> MaximizeByPattern(
    const std::vector<double>& start, int evaluations_max,
    const std::function<absl::StatusOr<double>(const std::vector<double>&)>& function) {
  SearchResult best{.at = start, .evaluations = 1};
  BANDANA_ASSIGN_OR_RETURN(best.value, function(start));
  for (double factor = kFirstFactor; factor > kLastFactor - 1e-3; factor = std::sqrt(factor)) {
    for (bool grown = true; grown;) {
      grown = false;
      for (std::size_t i = 0; i < start.size(); ++i) {
        for (const double by : {factor, 1 / factor}) {
          if (best.evaluations >= evaluations_max) return best;
          std::vector<double> at = best.at;
          at[i] *= by;
          BANDANA_ASSIGN_OR_RETURN(const double value, function(at));
          ++best.evaluations;
          if (!(value > best.value)) continue;
          best.at = at;
          best.value = value;
          grown = true;
          break;
        }
      }
    }
  }
  return best;
}

}  // namespace bandana
