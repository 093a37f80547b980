#include "tests/support/seeded_bits.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <climits>

#include "common/base/check.h"
#include "common/base/sha256.h"

namespace bandana::testing {

struct SeededBits::Cipher {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  ~Cipher() { EVP_CIPHER_CTX_free(context); }
};

SeededBits::SeededBits(std::uint64_t seed) : cipher_(std::make_unique<Cipher>()) {
  // The seed's decimal text, so that the stream does not depend on the byte order.
  const Sha256Digest key = Sha256Of("bandana test bits " + std::to_string(seed));
  const std::array<unsigned char, 16> counter{};
  BANDANA_CHECK(EVP_EncryptInit_ex(cipher_->context, EVP_aes_256_ctr(), nullptr,
                                   reinterpret_cast<const unsigned char*>(key.data()),
                                   counter.data()) == 1);
}

SeededBits::~SeededBits() = default;

absl::Status SeededBits::Fill(std::span<std::byte> out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  BANDANA_CHECK(out.size() <= INT_MAX);
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  int written = 0;
  BANDANA_CHECK(EVP_EncryptUpdate(cipher_->context, bytes, &written, bytes,
                                  static_cast<int>(out.size())) == 1);
  return absl::OkStatus();
}

}  // namespace bandana::testing
