#include "client/core/stand_in/entropy_bits.h"

#include <unistd.h>

#include <algorithm>

#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kAtOnceMax = 256;  // of getentropy

class Getentropy final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    for (std::span<std::byte> rest = out; !rest.empty();) {
      const std::size_t chunk = std::min(rest.size(), kAtOnceMax);
      if (getentropy(rest.data(), chunk) != 0) {
        std::fill(out.begin(), out.end(), std::byte{0});
        return Unavailable("entropy: the system generator failed");
      }
      rest = rest.subspan(chunk);
    }
    return absl::OkStatus();
  }
};

}  // namespace

BitSource& EntropyBits() {
  static Getentropy* const bits = new Getentropy;
  return *bits;
}

}  // namespace bandana
