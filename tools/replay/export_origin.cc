#include "tools/replay/export_origin.h"

#include "absl/strings/str_cat.h"

namespace bandana {

bool MayHaveLearnt(const ExportOrigin& origin, const LoggedDecision& decision) {
  if (origin.sequence == 0) return false;
  if (decision.instance == origin.instance) return decision.version < origin.sequence;
  return !(decision.time > origin.written + kExportClockError);
}

std::string RefusedWhere(const ExportOrigin& origin) {
  return absl::StrCat("of instance ", origin.instance, " those before version ", origin.sequence,
                      ", of others those before ",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", origin.written + kExportClockError,
                                       absl::UTCTimeZone()),
                      ", a minute after the file was written");
}

}  // namespace bandana
