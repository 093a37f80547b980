#include "tools/ctl/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "common/base/errno_status.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace bandana {
namespace {

absl::Status PartError(std::string_view what, const std::string& path, int error) {
  return ErrnoStatus(absl::StrCat("cannot ", ToAbsl(what), " ", path), error);
}

}  // namespace

absl::StatusOr<PartFile> PartFile::Create(const std::string& path) {
  const std::string part = path + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return PartError("create", part, errno);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    return FailedPrecondition(part, " is being written by another program");
  }
  PartFile file(fd, path);
  if (::fchmod(fd, 0600) != 0) return PartError("protect", part, errno);
  if (::ftruncate(fd, 0) != 0) return PartError("empty", part, errno);
  return file;
}

PartFile::PartFile(PartFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)),
      part_(std::move(other.part_)) {}

PartFile::~PartFile() {
  if (fd_ < 0) return;
  ::unlink(part_.c_str());
  ::close(fd_);
}

absl::Status PartFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return PartError("write", part_, n == 0 ? EIO : errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
    size_ += static_cast<std::uint64_t>(n);
  }
  return absl::OkStatus();
}

absl::Status PartFile::Sync() {
  return ::fsync(fd_) == 0 ? absl::OkStatus() : PartError("sync", part_, errno);
}

absl::Status PartFile::Commit() {
  if (std::rename(part_.c_str(), path_.c_str()) != 0) return PartError("rename", part_, errno);
  ::close(std::exchange(fd_, -1));
  return SyncFolderOf(path_);
}

}  // namespace bandana
