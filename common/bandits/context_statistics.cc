#include "common/bandits/context_statistics.h"

#include <cstddef>
#include <string_view>

#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {
namespace {

absl::Status CheckEntries(std::string_view name, std::span<const double> entries,
                          std::size_t size) {
  if (entries.size() != size) {
    return InvalidArgument(ToAbsl(name), " must have ", size, " entries, got ", entries.size());
  }
  if (EntriesInRange(entries)) return absl::OkStatus();
  return InvalidArgument(ToAbsl(name), " must be finite and within ", kEntryMax);
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
