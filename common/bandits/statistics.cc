#include "common/bandits/statistics.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"

namespace bandana {

bool EntriesInRange(std::span<const double> entries) {
  return std::all_of(entries.begin(), entries.end(),
                     [](double v) { return std::abs(v) <= kEntryMax; });
}

absl::Status CheckVariance(std::string_view name, double value) {
  if (value >= 0 && value <= kVarianceMax) return absl::OkStatus();
  return InvalidArgument(ToAbsl(name), " must be in [0, ", kVarianceMax, "], got ", value);
}

NodeStatistics EmptyStatistics(int dimension) {
  NodeStatistics statistics;
  statistics.gram.assign(static_cast<std::size_t>(PackedIndex(dimension, 0)), 0.0);
  statistics.moment.assign(static_cast<std::size_t>(dimension), 0.0);
  return statistics;
}

void AddEvent(const Event& event, NodeStatistics& statistics) {
  const std::size_t d = event.features.size();
  double* gram = statistics.gram.data();
  for (std::size_t i = 0; i < d; ++i) {
    const double x = event.features[i];
    for (std::size_t j = 0; j <= i; ++j) gram[j] += x * event.features[j];
    gram += i + 1;
    statistics.moment[i] += x * event.reward;
  }
  ++statistics.events;
}

absl::Status ValidateStatistics(const NodeStatistics& statistics, int dimension) {
  const std::size_t gram_size = static_cast<std::size_t>(PackedIndex(dimension, 0));
  if (statistics.gram.size() != gram_size) {
    return InvalidArgument("gram must have ", gram_size, " entries at dimension ", dimension,
                           ", got ", statistics.gram.size());
  }
  if (statistics.moment.size() != static_cast<std::size_t>(dimension)) {
    return InvalidArgument("moment must have ", dimension, " entries, got ",
                           statistics.moment.size());
  }
  if (!EntriesInRange(statistics.gram))
    return InvalidArgument("gram must be finite and within ", kEntryMax);
  if (!EntriesInRange(statistics.moment))
    return InvalidArgument("moment must be finite and within ", kEntryMax);
  BANDANA_RETURN_IF_ERROR(CheckVariance("moment_variance", statistics.moment_variance));
  for (int i = 0; i < dimension; ++i) {
    const double at_i = statistics.gram[PackedIndex(i, i)];
    if (!(at_i >= 0))
      return InvalidArgument("gram must have a diagonal >= 0, entry ", i, " is negative");
    for (int j = 0; j < i; ++j) {
      const double bound = std::sqrt(at_i) * std::sqrt(statistics.gram[PackedIndex(j, j)]);
      if (!(std::abs(statistics.gram[PackedIndex(i, j)]) <= bound * (1 + 1e-9))) {
        return InvalidArgument("gram must be positive semidefinite, rows ", j, " and ", i,
                               " are not");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace bandana
