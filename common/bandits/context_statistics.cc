#include "common/bandits/context_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr double kEntryMax = 1e100;
constexpr double kVarianceMax = 1e30;

absl::Status CheckEntries(std::string_view name, std::span<const double> entries,
                          std::size_t size) {
  if (entries.size() != size) {
    return InvalidArgument(ToAbsl(name), " must have ", size, " entries, got ", entries.size());
  }
  if (std::all_of(entries.begin(), entries.end(),
                  [](double v) { return std::abs(v) <= kEntryMax; }))
    return absl::OkStatus();
  return InvalidArgument(ToAbsl(name), " must be finite and within ", kEntryMax);
}

absl::Status CheckVariance(std::string_view name, double value) {
  if (value >= 0 && value <= kVarianceMax) return absl::OkStatus();
  return InvalidArgument(ToAbsl(name), " must be in [0, ", kVarianceMax, "], got ", value);
}

}  // namespace

NoisyStatistics NoReports(int dimension) {
  const auto d = static_cast<std::size_t>(dimension);
  return {.gram = std::vector<double>(d * (d + 1) / 2, 0.0), .moment = std::vector<double>(d, 0.0)};
}

absl::Status AddReport(std::span<const double> gram, std::span<const double> moment,
                       const ReportVariance& variance, NoisyStatistics& sum) {
  BANDANA_RETURN_IF_ERROR(CheckEntries("gram", gram, sum.gram.size()));
  BANDANA_RETURN_IF_ERROR(CheckEntries("moment", moment, sum.moment.size()));
  BANDANA_RETURN_IF_ERROR(CheckVariance("gram variance", variance.gram));
  BANDANA_RETURN_IF_ERROR(CheckVariance("moment variance", variance.moment));
  for (std::size_t i = 0; i < gram.size(); ++i) sum.gram[i] += gram[i];
  for (std::size_t i = 0; i < moment.size(); ++i) sum.moment[i] += moment[i];
  sum.gram_variance += variance.gram;
  sum.moment_variance += variance.moment;
  ++sum.events;
  return absl::OkStatus();
}

}  // namespace bandana
