#include "common/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "common/base/removal.h"
#include "common/base/status.h"

namespace bandana {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

absl::Status IoError(std::string_view what, const std::string& path, int error) {
  const std::string message = absl::StrCat(ToAbsl(what), " ", path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

absl::Status WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return IoError("cannot write", path, n == 0 ? EIO : errno);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

// Sends a large file to the disk as it is written, some stretches behind. All of it at the end
// would hold up whoever else waits for a sync, such as a log that learns.
class Stretches {
 public:
  absl::Status Written(int fd, std::size_t bytes, const std::string& path) {
    written_ += static_cast<off_t>(bytes);
    if (written_ - begun_ < kStretchBytes) return absl::OkStatus();
    BANDANA_RETURN_IF_ERROR(Send(fd, begun_, written_, SYNC_FILE_RANGE_WRITE, path));
    BANDANA_RETURN_IF_ERROR(Send(fd, done_, begun_, kWait, path));
    done_ = begun_;
    begun_ = written_;
    return absl::OkStatus();
  }

 private:
  static constexpr off_t kStretchBytes = off_t{4} << 20;
  static constexpr unsigned kWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

  // An error of the disk is told here, and not again by the sync at the end.
  static absl::Status Send(int fd, off_t from, off_t to, unsigned how, const std::string& path) {
    if (from == to || ::sync_file_range(fd, from, to - from, how) == 0) return absl::OkStatus();
    const bool unknown = errno == ENOSYS || errno == EINVAL || errno == ESPIPE;
    return unknown ? absl::OkStatus() : IoError("cannot write", path, errno);
  }

  off_t written_ = 0;
  off_t begun_ = 0;  // up to here it is on its way
  off_t done_ = 0;   // up to here it is there
};

absl::Status WriteAndSync(const std::string& path, const ByteSource& content, int mode) {
  const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (fd.get() < 0) return IoError("cannot create", path, errno);
  Stretches stretches;
  BANDANA_RETURN_IF_ERROR(content([&](std::string_view bytes) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(WriteAll(fd.get(), bytes, path));
    return stretches.Written(fd.get(), bytes.size(), path);
  }));
  return ::fsync(fd.get()) == 0 ? absl::OkStatus() : IoError("cannot sync", path, errno);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, std::uint64_t bytes_max) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return IoError("cannot open", path, errno);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IoError("cannot read", path, errno);
    if (n == 0) return content;
    if (content.size() + static_cast<std::size_t>(n) > bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " is larger than ", bytes_max, " bytes"));
    }
    content.append(buffer, static_cast<std::size_t>(n));
  }
}

absl::Status SyncFolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return IoError("cannot open", folder, errno);
  if (::fsync(fd.get()) != 0) return IoError("cannot sync", folder, errno);
  return absl::OkStatus();
}

absl::Status WriteFileDurably(const std::string& path, std::string_view content, int mode) {
  return WriteFileDurably(path, SourceOf(content), mode);
}

absl::Status WriteFileDurably(const std::string& path, const ByteSource& content, int mode) {
  const std::string temporary = path + ".tmp";
  LeavingFile old(path);
  if (absl::Status written = WriteAndSync(temporary, content, mode); !written.ok()) {
    ::unlink(temporary.c_str());  // half of a large file would keep a full disk full
    return written;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return IoError("cannot rename to", path, errno);
  BANDANA_RETURN_IF_ERROR(SyncFolderOf(path));
  old.GiveBack();
  return absl::OkStatus();
}

absl::Status MakeFolders(const std::string& path) {
  std::filesystem::path made;
  for (const auto& part : std::filesystem::path(path)) {
    made /= part;
    if (made.empty() || std::filesystem::is_directory(made)) continue;
    if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST)
      return IoError("cannot make folder", made.string(), errno);
    BANDANA_RETURN_IF_ERROR(SyncFolderOf(made.string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> FreeBytes(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0)
    return IoError("cannot look at the disk of", folder, errno);
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

std::string ResolvePath(std::string_view path, std::string_view folder) {
  const std::filesystem::path p(path);
  if (p.is_absolute() || folder.empty()) return p.string();
  return (std::filesystem::path(folder) / p).string();
}

}  // namespace bandana
