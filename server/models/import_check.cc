#include "server/models/import_check.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "server/models/folder/export.h"
#include "server/models/users/user_table.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kKeptForLogsBytes = 64ull << 20;

absl::Status CheckCount(std::string_view name, std::uint64_t count, std::uint64_t max) {
  if (count <= max) return absl::OkStatus();
  return FailedPrecondition(ToAbsl(name), ": the export has ", count, ", this server takes ", max);
}

}  // namespace

absl::Status CheckHeader(const v1::ExportHeader& header) {
  if (header.version() < kExportVersionMin || header.version() > kExportVersionMax) {
    return FailedPrecondition("version: the export has format ", header.version(),
                              ", this server reads formats ", kExportVersionMin, " to ",
                              kExportVersionMax);
  }
  if (header.bytes() <= sizeof(Sha256Digest)) {
    return InvalidArgument("bytes: an export has more than ", header.bytes());
  }
  BANDANA_RETURN_IF_ERROR(CheckCount("arms", header.arms(), kArmsMaxMax));
  return CheckCount("nodes", header.nodes(), kIndependentNodesMax);
}

absl::Status CheckHeaderFits(const v1::ExportHeader& header, const ModelSpec& spec,
                             absl::Duration token_lifetime_max) {
  if (spec.public_spec.token_lifetime > token_lifetime_max) {
    return FailedPrecondition("config: token_lifetime is ",
                              absl::FormatDuration(spec.public_spec.token_lifetime),
                              ", must be at most this server's tokens.rotation_interval of ",
                              absl::FormatDuration(token_lifetime_max));
  }
  BANDANA_RETURN_IF_ERROR(CheckCount("features of all arms together",
                                     std::uint64_t{header.arms()} * spec.public_spec.dimension,
                                     kCatalogueFeaturesMax));
  const int users_max = UserTable::UsersMax(spec);
  if (header.users() <= static_cast<std::uint32_t>(users_max)) return absl::OkStatus();
  return FailedPrecondition("users: the export has ", header.users(), ", its users_max is ",
                            users_max);
}

absl::Status CheckDisk(std::string_view what, std::uint64_t bytes, int times, std::uint64_t free,
                       const std::string& folder) {
  const std::uint64_t kept = std::min(kKeptForLogsBytes, free / 16);
  if (bytes <= (free - kept) / times) return absl::OkStatus();
  const std::string needed = times == 1 ? "as many" : absl::StrCat(times, " times as many");
  return absl::ResourceExhaustedError(
      absl::StrCat(ToAbsl(what), " of ", bytes, " bytes needs ", needed, " free on the disk of ",
                   folder, "; ", free, " are free, and ", kept, " of them are kept for the logs"));
}

}  // namespace bandana::server
