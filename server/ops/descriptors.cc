#include "server/ops/descriptors.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>

#include "common/base/status.h"

namespace bandana::server {

std::uint64_t RaiseDescriptorLimit(std::uint64_t needed) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur >= needed) return limit.rlim_cur;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(needed, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

absl::StatusOr<int> ConnectionsThatFit(int wanted, int models, std::uint64_t limit) {
  const std::int64_t reserved =
      kDescriptorsReserved + static_cast<std::int64_t>(kDescriptorsPerModel) * models;
  const std::int64_t room =
      static_cast<std::int64_t>(std::min<std::uint64_t>(limit, 1 << 30)) - reserved;
  if (room < kConnectionsMaxMin) {
    return FailedPrecondition(
        "this process may have ", limit, " file descriptors; limits.models_max = ", models,
        " models take ", reserved, " of them and connections need at least ", kConnectionsMaxMin,
        ": raise the limit (ulimit -n, LimitNOFILE) or lower limits.models_max");
  }
  return static_cast<int>(std::min<std::int64_t>(wanted, room));
}

absl::Status FitIntoDescriptors(int listeners, int models, ConnectionLimits& limits) {
  const int wanted = listeners * limits.connections_max;
  const std::uint64_t descriptors = RaiseDescriptorLimit(
      kDescriptorsReserved + std::uint64_t{kDescriptorsPerModel} * models + wanted);
  BANDANA_ASSIGN_OR_RETURN(const int fit, ConnectionsThatFit(wanted, models, descriptors));
  if (fit == wanted) return absl::OkStatus();
  spdlog::warn(
      "connections_max is {} instead of {}: this process may have {} file descriptors (ulimit "
      "-n, LimitNOFILE)",
      fit / listeners, limits.connections_max, descriptors);
  limits.connections_max = fit / listeners;
  return absl::OkStatus();
}

}  // namespace bandana::server
