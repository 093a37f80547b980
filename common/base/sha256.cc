#include "common/base/sha256.h"

#include <openssl/evp.h>

#include "common/base/check.h"

namespace bandana {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
  void Start() { BANDANA_CHECK(EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  BANDANA_CHECK(impl_->context != nullptr);
  impl_->Start();
}
Sha256::~Sha256() = default;

Sha256& Sha256::Update(std::span<const std::byte> bytes) {
  BANDANA_CHECK(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1);
  return *this;
}
Sha256& Sha256::Update(std::string_view bytes) { return Update(AsBytes(bytes)); }

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  unsigned length = 0;
  BANDANA_CHECK(EVP_DigestFinal_ex(impl_->context, reinterpret_cast<unsigned char*>(digest.data()),
                                   &length) == 1);
  BANDANA_CHECK(length == digest.size());
  impl_->Start();
  return digest;
}

Sha256Digest Sha256Of(std::string_view bytes) { return Sha256().Update(bytes).Finish(); }

std::string ToHex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (std::byte b : bytes) {
    hex.push_back(kDigits[std::to_integer<int>(b >> 4)]);
    hex.push_back(kDigits[std::to_integer<int>(b & std::byte{15})]);
  }
  return hex;
}

}  // namespace bandana
