#include "server/ops/config/data_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/file.h"
#include "common/base/status.h"

namespace bandana::server {

absl::StatusOr<std::unique_ptr<DataDirLock>> DataDirLock::Acquire(const std::string& data_dir) {
  BANDANA_RETURN_IF_ERROR(Annotate(MakeFolders(data_dir), "data_dir"));
  const std::string path = ResolvePath("LOCK", data_dir);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Unavailable("data_dir: cannot open ", path, ": ", std::strerror(errno));
  std::unique_ptr<DataDirLock> lock(new DataDirLock(fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) {
    return FailedPrecondition("data_dir: ", data_dir, " is in use by another bandana-server");
  }
  return Unavailable("data_dir: cannot lock ", path, ": ", std::strerror(errno));
}

DataDirLock::~DataDirLock() { ::close(fd_); }

}  // namespace bandana::server
