#include "server/decisions/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/base/errno_status.h"
#include "common/base/status.h"

namespace bandana::server {

absl::StatusOr<AppendFile> AppendFile::Make(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return ErrnoStatus(path, errno);
  return AppendFile(fd, path, 0);
}

absl::StatusOr<AppendFile> AppendFile::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return ErrnoStatus(path, errno);
  AppendFile file(fd, path, 0);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return ErrnoStatus(path, errno);
  file.size_ = static_cast<std::uint64_t>(info.st_size);
  return file;
}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  return *this;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status AppendFile::Append(std::string_view bytes) {
  if (absl::Status put = Put(size_, bytes); !put.ok()) {
    CutTo(size_).IgnoreError();  // the next append writes over what is left
    return put;
  }
  size_ += bytes.size();
  return absl::OkStatus();
}

absl::Status AppendFile::WriteAt(std::uint64_t offset, std::string_view bytes) {
  return Put(offset, bytes);
}

absl::Status AppendFile::CutTo(std::uint64_t size) {
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) return ErrnoStatus(path_, errno);
  size_ = size;
  return absl::OkStatus();
}

absl::Status AppendFile::Sync() {
  return ::fdatasync(fd_) == 0 ? absl::OkStatus() : ErrnoStatus(path_, errno);
}

absl::Status AppendFile::Put(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrnoStatus(path_, errno);
    offset += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return absl::OkStatus();
}

}  // namespace bandana::server
