#include "server/service/random_buffer.h"

#include <openssl/crypto.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kFillBytesMax = 256;

// Counts the forks this process descends from. A handler of pthread_atfork costs nothing per draw,
// where asking getpid() would be a system call each time.
std::atomic<std::uint64_t> forks{0};

void CountForks() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  BANDANA_CHECK(registered == 0);
}

struct Block {
  ~Block() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  std::array<std::byte, kBlockBytes> bytes{};
  std::size_t next = kBlockBytes;
  std::uint64_t forks = 0;
};

}  // namespace

absl::Status FillRandom(std::span<std::byte> out) {
  BANDANA_CHECK(out.size() <= kFillBytesMax);
  CountForks();
  thread_local Block block;
  const std::uint64_t present = forks.load(std::memory_order_relaxed);
  if (block.forks != present || kBlockBytes - block.next < out.size()) {
    block.next = kBlockBytes;  // on failure nothing of the old block is used again
    block.forks = present;
    BANDANA_RETURN_IF_ERROR(SystemBits().Fill(block.bytes));
    block.next = 0;
  }
  std::byte* source = block.bytes.data() + block.next;
  std::memcpy(out.data(), source, out.size());
  OPENSSL_cleanse(source, out.size());
  block.next += out.size();
  return absl::OkStatus();
}

}  // namespace bandana::server
