// SystemBits() of this program as well: its definition is taken before that of the library
// (common/random/system_bits.cc), and no other program links it.
#include "tests/vectors/scripted_bits.h"

#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana {
namespace vectors {
namespace {

BitSource* system_bits = nullptr;

class SystemOrScript final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    return (system_bits != nullptr ? *system_bits : OpenSslSystemBits()).Fill(out);
  }
};

}  // namespace

absl::Status ScriptedBits::Fill(std::span<std::byte> out) {
  if (failing) {
    if (on_fill) on_fill("");
    return Unavailable("entropy failed");
  }
  for (std::byte& byte : out) {
    const Sha256Digest block =
        Sha256Of("bandana vectors " + name_ + " " + std::to_string(next_ / 32));
    byte = block[next_++ % 32];
  }
  if (on_fill) on_fill(std::string(AsChars(out)));
  return absl::OkStatus();
}

void SetSystemBits(BitSource* bits) { system_bits = bits; }

}  // namespace vectors

BitSource& SystemBits() {
  static vectors::SystemOrScript bits;
  return bits;
}

}  // namespace bandana
