#include "client/abi/src/host_bits.h"

#include <utility>

#include "client/core/stand_in/entropy_bits.h"

namespace bandana {
namespace {

thread_local BitSource* entered = nullptr;

class HostBits final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    return entered == nullptr ? EntropyBits().Fill(out) : entered->Fill(out);
  }
};

}  // namespace

BitSource& SystemBits() {
  static HostBits* const bits = new HostBits;
  return *bits;
}

namespace abi {

EntropyScope::EntropyScope(BitSource* bits) : former_(std::exchange(entered, bits)) {}
EntropyScope::~EntropyScope() { entered = former_; }

}  // namespace abi
}  // namespace bandana
