// SystemBits() of bandana-audit. An object of the program itself: its definition is taken before
// that of the library (common/random/system_bits.cc), and no other program links it.
#include "common/random/bit_source.h"
#include "tools/audit/transcript/seeded_bits.h"

namespace bandana {
namespace {

// A thread on which a world runs draws what the world's seed says; every other thread draws from
// the system, as in all programs.
class AuditBits final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    BitSource* const world = audit::ThreadBits::Current();
    return world != nullptr ? world->Fill(out) : OpenSslSystemBits().Fill(out);
  }
};

}  // namespace

BitSource& SystemBits() {
  static AuditBits* const bits = new AuditBits;
  return *bits;
}

}  // namespace bandana
