#include "common/base/removal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/half_pace.h"

namespace bandana {
namespace {

namespace fs = std::filesystem;

constexpr off_t kStretchBytes = off_t{16} << 20;

absl::Status RemovalError(const std::string& path, const std::error_code& error) {
  return absl::UnavailableError(absl::StrCat("cannot remove ", path, ": ", error.message()));
}

}  // namespace

void GiveBackSpace(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return;
  if (!S_ISREG(info.st_mode) || info.st_nlink > 0) return;
  bool done = true;
  for (off_t rest = info.st_size - kStretchBytes; done && rest > 0; rest -= kStretchBytes) {
    // Synced, or the file system would collect the stretches and give them back together.
    AtHalfPace([&] { done = ::ftruncate(fd, rest) == 0 && ::fsync(fd) == 0; });
  }
}

// Without O_NONBLOCK, opening a pipe would wait for whoever writes to it.
LeavingFile::LeavingFile(const std::string& path)
    : fd_(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}

LeavingFile::~LeavingFile() {
  if (fd_ >= 0) ::close(fd_);
}

absl::StatusOr<bool> RemoveFile(const std::string& path) {
  LeavingFile file(path);
  std::error_code error;
  const bool removed = fs::remove(path, error);
  if (error) return RemovalError(path, error);
  file.GiveBack();
  return removed;
}

absl::Status RemoveFolder(const std::string& path) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    if (!fs::is_regular_file(it->symlink_status())) continue;
    if (const auto removed = RemoveFile(it->path().string()); !removed.ok())
      return removed.status();
  }
  if (error && error != std::errc::no_such_file_or_directory) return RemovalError(path, error);
  fs::remove_all(path, error);
  return error ? RemovalError(path, error) : absl::OkStatus();
}

}  // namespace bandana
