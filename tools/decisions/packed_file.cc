#include "tools/decisions/packed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <utility>

#include "common/base/errno_status.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr unsigned kBufferBytes = 1 << 18;

std::string Unfinished(const std::string& path) { return path + ".tmp"; }

// zlib's step in one call is an unsigned.
unsigned Step(std::size_t size) {
  return static_cast<unsigned>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

PackedFile::PackedFile(std::string path, int sync, gzFile file)
    : path_(std::move(path)), sync_(sync), file_(file) {}

PackedFile::~PackedFile() {
  if (path_.empty()) return;
  if (file_ != nullptr) {  // not finished
    file_.reset();
    std::remove(Unfinished(path_).c_str());
  }
  close(sync_);
}

absl::StatusOr<PackedFile> PackedFile::Create(const std::string& path) {
  const std::string unfinished = Unfinished(path);
  const int sync = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (sync < 0) return ErrnoStatus(unfinished, errno);
  const int written = dup(sync);
  // T: written as it is, without gzip's frame.
  gzFile file = written < 0 ? nullptr : gzdopen(written, path.ends_with(".gz") ? "wb" : "wbT");
  if (file == nullptr) {
    const int error = errno;
    if (written >= 0) close(written);
    close(sync);
    return ErrnoStatus(unfinished, error);
  }
  gzbuffer(file, kBufferBytes);
  return PackedFile(path, sync, file);
}

absl::Status PackedFile::Append(std::string_view text) {
  while (!text.empty()) {
    const unsigned step = Step(text.size());
    if (gzwrite(file_.get(), text.data(), step) != static_cast<int>(step)) {
      return ErrnoStatus(path_, errno);
    }
    text.remove_prefix(step);
  }
  return absl::OkStatus();
}

absl::Status PackedFile::Finish() {
  const std::string unfinished = Unfinished(path_);
  if (gzclose(file_.release()) != Z_OK || fsync(sync_) != 0 ||
      std::rename(unfinished.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    std::remove(unfinished.c_str());
    return ErrnoStatus(path_, error);
  }
  return SyncFolderOf(path_);
}

absl::StatusOr<DecisionBytes> OpenPackedFile(const std::string& path) {
  errno = 0;
  const std::shared_ptr<gzFile_s> file(gzopen(path.c_str(), "rb"), [](gzFile opened) {
    if (opened != nullptr) gzclose(opened);
  });
  if (file == nullptr) return ErrnoStatus(path, errno);
  gzbuffer(file.get(), kBufferBytes);
  return [file, path](char* buffer, std::size_t size) -> absl::StatusOr<std::size_t> {
    const int got = gzread(file.get(), buffer, Step(size));
    if (got > 0) return static_cast<std::size_t>(got);
    int code = Z_OK;
    gzerror(file.get(), &code);
    if (code == Z_ERRNO) return ErrnoStatus(path, errno);
    if (code == Z_OK || code == Z_STREAM_END) return std::size_t{0};
    return DataLoss(path, ": gzip data is ", code == Z_BUF_ERROR ? "truncated" : "damaged");
  };
}

}  // namespace bandana
