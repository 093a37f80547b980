// An entropy source that runs dry.
#pragma once

#include <cstddef>
#include <span>

#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "tests/support/seeded_bits.h"

namespace bandana::testing {

// Gives `bytes` good bytes; every Fill that would need more answers UNAVAILABLE. Threads: not safe.
class FailingBits final : public BitSource {
 public:
  explicit FailingBits(std::size_t bytes, std::uint64_t seed = 1) : left_(bytes), bits_(seed) {}

  absl::Status Fill(std::span<std::byte> out) override {
    if (out.size() > left_) {
      left_ = 0;
      return Unavailable("entropy: test source is dry");
    }
    left_ -= out.size();
    return bits_.Fill(out);
  }

 private:
  std::size_t left_;
  SeededBits bits_;
};

}  // namespace bandana::testing
