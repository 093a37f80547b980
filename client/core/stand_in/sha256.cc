// common/base/sha256.h for hosts without OpenSSL.
#include "common/base/sha256.h"

#include <cstring>

#include "client/core/stand_in/plain_sha256.h"

namespace bandana {

struct Sha256::Impl {
  device::PlainSha256 hash;
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {}
Sha256::~Sha256() = default;

Sha256& Sha256::Update(std::span<const std::byte> bytes) { return Update(AsChars(bytes)); }
Sha256& Sha256::Update(std::string_view bytes) {
  impl_->hash.Update(bytes);
  return *this;
}

Sha256Digest Sha256::Finish() {
  const device::PlainSha256::Digest plain = impl_->hash.Finish();
  Sha256Digest digest;
  std::memcpy(digest.data(), plain.data(), plain.size());
  return digest;
}

Sha256Digest Sha256Of(std::string_view bytes) { return Sha256().Update(bytes).Finish(); }

std::string ToHex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += kDigits[std::to_integer<int>(byte >> 4)];
    hex += kDigits[std::to_integer<int>(byte & std::byte{15})];
  }
  return hex;
}

}  // namespace bandana
