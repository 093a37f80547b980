#include "common/base/hmac.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace bandana {

bool HmacSha256(std::span<const std::byte> key, std::string_view message, Sha256Digest& digest) {
  unsigned int bytes = 0;
  const bool made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                         reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                         reinterpret_cast<unsigned char*>(digest.data()), &bytes) != nullptr;
  if (made && bytes == digest.size()) return true;
  OPENSSL_cleanse(digest.data(), digest.size());
  ERR_clear_error();
  return false;
}

}  // namespace bandana
