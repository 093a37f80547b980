#include "common/random/buffered_bits.h"

#include <openssl/crypto.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kBlockBytes = 4096;

// Counts the forks this process descends from. A handler of pthread_atfork costs nothing per draw,
// where asking getpid() would be a system call each time.
std::atomic<std::uint64_t> forks{0};

struct Block {
  ~Block() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  alignas(std::uint64_t) std::array<std::byte, kBlockBytes> bytes{};
  std::size_t next = kBlockBytes;
  std::uint64_t forks = 0;
};

// The compiler may not drop it, and it is one instruction where OPENSSL_cleanse is a call.
void EraseWord(std::byte* at) {
  std::memset(at, 0, sizeof(std::uint64_t));
  asm volatile("" : : "r"(at) : "memory");
}

class BufferedSystemBits final : public BitSource {
 public:
  BufferedSystemBits() {
    BANDANA_CHECK(::pthread_atfork(nullptr, nullptr,
                                   [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0);
  }

  absl::Status Fill(std::span<std::byte> out) override {
    if (out.size() > kBlockBytes / 8) return SystemBits().Fill(out);
    Block& block = OwnBlock();
    if (!Holds(block, out.size())) BANDANA_RETURN_IF_ERROR(Refill(block));
    std::byte* const source = block.bytes.data() + block.next;
    std::memcpy(out.data(), source, out.size());
    OPENSSL_cleanse(source, out.size());
    block.next += out.size();
    return absl::OkStatus();
  }

  absl::StatusOr<std::uint64_t> NextBits(int count) override {
    BANDANA_CHECK(1 <= count && count <= 64);
    Block& block = OwnBlock();
    if (!Holds(block, sizeof(std::uint64_t))) BANDANA_RETURN_IF_ERROR(Refill(block));
    std::byte* const source = block.bytes.data() + block.next;
    std::uint64_t word;
    std::memcpy(&word, source, sizeof(word));
    EraseWord(source);
    block.next += sizeof(word);
    return word & (~std::uint64_t{0} >> (64 - count));
  }

 private:
  static Block& OwnBlock() {
    thread_local Block block;
    return block;
  }
  static bool Holds(const Block& block, std::size_t size) {
    return block.forks == forks.load(std::memory_order_relaxed) && kBlockBytes - block.next >= size;
  }
  static absl::Status Refill(Block& block) {
    block.next = kBlockBytes;  // on failure nothing of the old block is used again
    block.forks = forks.load(std::memory_order_relaxed);
    BANDANA_RETURN_IF_ERROR(SystemBits().Fill(block.bytes));
    block.next = 0;
    return absl::OkStatus();
  }
};

}  // namespace

BitSource& BufferedBits() {
  static BufferedSystemBits* const bits = new BufferedSystemBits;
  return *bits;
}

}  // namespace bandana
