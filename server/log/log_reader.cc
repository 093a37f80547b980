#include "server/log/log_reader.h"

#include <algorithm>
#include <vector>

#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kReadEntries = 4096;

}  // namespace

absl::Status ForEachEntry(const LogReader& log, LogPosition after,
                          const std::function<absl::Status(const LogEntry&)>& take,
                          std::uint64_t through) {
  std::vector<LogEntry> entries;
  while (after.sequence < through) {
    entries.clear();
    const auto wanted = static_cast<int>(std::min(kReadEntries, through - after.sequence));
    const absl::Status read = log.Read(after, wanted, entries);
    for (const LogEntry& entry : entries) {
      BANDANA_RETURN_IF_ERROR(take(entry));
      after = entry.position;
    }
    BANDANA_RETURN_IF_ERROR(read);
    if (entries.empty()) break;
  }
  return absl::OkStatus();
}

}  // namespace bandana::server
