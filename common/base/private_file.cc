#include "common/base/private_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace bandana {
namespace {

absl::Status CheckMode(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return NotFound("cannot open ", path, ": ", std::strerror(errno));
    return Unavailable("cannot stat ", path, ": ", std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return FailedPrecondition(path, " is not a regular file");
  const mode_t forbidden = info.st_uid == 0 ? 0137 : 0177;
  if ((info.st_mode & forbidden) == 0) return absl::OkStatus();
  return FailedPrecondition(path, " has mode ", absl::StrFormat("%04o", info.st_mode & 07777),
                            ", must be 0600 (or 0640 when root owns it): it is a secret");
}

}  // namespace

absl::StatusOr<std::string> ReadPrivateFile(const std::string& path, std::uint64_t bytes_max) {
  BANDANA_RETURN_IF_ERROR(CheckMode(path));
  return ReadTextFile(path, bytes_max);
}

FileVersion VersionOf(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return {};
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
          .bytes = info.st_size};
}

}  // namespace bandana
