#include "common/base/temp_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "common/base/errno_status.h"
#include "common/base/removal.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr char kPrefix[] = ".temp-";

absl::Status FileError(std::string_view what, const std::string& folder, int error) {
  return ErrnoStatus(absl::StrCat("cannot ", ToAbsl(what), " a temporary file in ", folder), error);
}

}  // namespace

absl::StatusOr<TempFile> TempFile::Make(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return TempFile(fd, folder);
  // EISDIR: a kernel, EOPNOTSUPP: a file system without such files.
  if (errno == EOPNOTSUPP || errno == EISDIR) return MakeNamed(folder);
  return FileError("make", folder, errno);
}

absl::StatusOr<TempFile> TempFile::MakeNamed(const std::string& folder) {
  std::string path = folder + "/" + kPrefix + "XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);  // with mode 0600
  if (fd < 0) return FileError("make", folder, errno);
  TempFile file(fd, folder);
  if (::unlink(path.c_str()) != 0) return FileError("unlink", folder, errno);
  return file;
}

absl::StatusOr<TempFile> TempFile::InMemory() {
  const int fd = ::memfd_create("bandana", MFD_CLOEXEC);
  if (fd < 0) return FileError("make", "memory", errno);
  return TempFile(fd, "memory");
}

TempFile::TempFile(TempFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(std::exchange(other.size_, 0)),
      folder_(std::move(other.folder_)) {}

TempFile& TempFile::operator=(TempFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(folder_, other.folder_);
  return *this;
}

TempFile::~TempFile() {
  if (fd_ < 0) return;
  GiveBackSpace(fd_);
  ::close(fd_);
}

absl::Status TempFile::Write(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FileError("write", folder_, n == 0 ? EIO : errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return absl::OkStatus();
}

absl::Status TempFile::Reserve(std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    return FileError("make room for", folder_, ENOSPC);
  }
  if (bytes == 0) return absl::OkStatus();
  // Asked first: a file system may take all that is left before it says that it is not enough.
  struct statvfs disk {};
  const bool known = ::fstatvfs(fd_, &disk) == 0 && disk.f_blocks > 0;
  if (known && bytes / disk.f_frsize >= disk.f_bavail) {
    return FileError("make room for", folder_, ENOSPC);
  }
  while (::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return absl::OkStatus();
    // EFBIG: larger than a file may be.
    if (errno != EINTR) return FileError("make room for", folder_, errno == EFBIG ? ENOSPC : errno);
  }
  return absl::OkStatus();
}

absl::Status TempFile::Append(std::string_view bytes) {
  BANDANA_RETURN_IF_ERROR(Write(size_, bytes));
  size_ += bytes.size();
  return absl::OkStatus();
}

absl::Status TempFile::WriteAt(std::uint64_t offset, std::string_view bytes) {
  if (offset > size_ || bytes.size() > size_ - offset) return FileError("write", folder_, EINVAL);
  return Write(offset, bytes);
}

absl::StatusOr<std::size_t> TempFile::ReadAt(std::uint64_t offset, std::span<char> out) const {
  std::size_t read = 0;
  while (read < out.size()) {
    const ssize_t n =
        ::pread(fd_, out.data() + read, out.size() - read, static_cast<off_t>(offset + read));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("read", folder_, errno);
    if (n == 0) break;
    read += static_cast<std::size_t>(n);
  }
  return read;
}

absl::StatusOr<MappedFile> TempFile::Map() const {
  return MappedFile::OfDescriptor(fd_, size_, absl::StrCat("a temporary file in ", folder_));
}

absl::Status RemoveTempFiles(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator it(folder, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (!it->path().filename().string().starts_with(kPrefix)) continue;
    if (!it->is_regular_file(error)) continue;
    std::filesystem::remove(it->path(), error);
    if (error) break;
  }
  if (error) return Unavailable("cannot clear ", folder, ": ", error.message());
  return absl::OkStatus();
}

}  // namespace bandana
