#include "server/decisions/decision_counts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/errno_status.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kMagic = 0x3144434e44424eff;

}  // namespace

absl::StatusOr<std::unique_ptr<DecisionCounts>> DecisionCounts::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return ErrnoStatus(path, errno);
  // Blocks and all: a page that the disk has no room for would kill the program later.
  const int reserved = ::posix_fallocate(fd, 0, sizeof(Shared));
  void* const map = reserved == 0
                        ? ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                        : MAP_FAILED;
  const int error = reserved == 0 ? errno : reserved;
  ::close(fd);
  if (map == MAP_FAILED) return ErrnoStatus(path, error);
  auto* const shared = static_cast<Shared*>(map);
  if (shared->magic != kMagic) {
    shared->taken = 0;
    shared->written = 0;
    shared->through = 0;
    shared->through_nanos = 0;
    shared->deferred = 0;
    shared->magic = kMagic;
  }
  return std::unique_ptr<DecisionCounts>(new DecisionCounts(shared));
}

DecisionCounts::~DecisionCounts() { ::munmap(shared_, sizeof(Shared)); }

void DecisionCounts::AtLeast(std::uint64_t written) {
  if (this->written() < written) shared_->written.store(written, std::memory_order_relaxed);
  if (taken() < this->written()) {
    shared_->taken.store(this->written(), std::memory_order_relaxed);
  }
}

void DecisionCounts::SetThrough(const Through& through) {
  // A process that is killed in between leaves an older sequence with a later time, or 0: it reads
  // more entries again, or gives up more lines.
  if (through.sequence < shared_->through.load(std::memory_order_relaxed)) {
    shared_->through.store(through.sequence, std::memory_order_release);
  }
  shared_->through_nanos.store(absl::ToUnixNanos(through.time), std::memory_order_relaxed);
  shared_->through.store(through.sequence, std::memory_order_release);
}

DecisionCounts::Through DecisionCounts::through() const {
  const std::uint64_t sequence = shared_->through.load(std::memory_order_acquire);
  if (sequence == 0) return {};
  return {sequence, absl::FromUnixNanos(shared_->through_nanos.load(std::memory_order_relaxed))};
}

absl::Status DecisionCounts::Sync() {
  if (::msync(shared_, sizeof(Shared), MS_SYNC) == 0) return absl::OkStatus();
  return ErrnoStatus("counts of decisions", errno);
}

}  // namespace bandana::server
