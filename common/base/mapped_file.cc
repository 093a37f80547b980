#include "common/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const std::string message = absl::StrCat("cannot open ", path, ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
  }
  struct stat info {};
  absl::StatusOr<MappedFile> mapped = FailedPrecondition(path, " is not a regular file");
  if (::fstat(fd, &info) != 0) {
    mapped = Unavailable("cannot look at ", path, ": ", std::strerror(errno));
  } else if (S_ISREG(info.st_mode)) {
    mapped = OfDescriptor(fd, static_cast<std::uint64_t>(info.st_size), path);
  }
  ::close(fd);
  return mapped;
}

absl::StatusOr<MappedFile> MappedFile::OfDescriptor(int fd, std::uint64_t bytes,
                                                    const std::string& path) {
  if (bytes == 0) return MappedFile(std::string_view());
  void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return Unavailable("cannot map ", path, ": ", std::strerror(errno));
  // Advice: read ahead, and do not keep what was read.
  (void)::madvise(at, bytes, MADV_SEQUENTIAL);
  return MappedFile({static_cast<const char*>(at), bytes});
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, std::string_view())) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace bandana
