#include "server/service/min_version.h"

#include "common/base/status.h"

namespace bandana::server {

absl::Status CheckMinVersion(const ResolvedModel& to, std::uint64_t min_version) {
  if (min_version == 0) return absl::OkStatus();
  const std::uint64_t served = to.model->posterior()->version();
  if (served >= to.Own(min_version).value_or(0)) return absl::OkStatus();
  return Unavailable("min_version: version ", to.Shown(served), " is served, asked for ",
                     min_version, "; try again");
}

}  // namespace bandana::server
