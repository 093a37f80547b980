#include "client/src/store/sealer.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include <array>
#include <cstddef>

#include "client/src/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

constexpr std::string_view kDomain = "bandana-device-store-1";
constexpr char kVersion = 1;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kHeaderBytes = 1 + kNonceBytes;
constexpr std::size_t kTagBytes = 16;

unsigned char* Chars(char* p) { return reinterpret_cast<unsigned char*>(p); }
const unsigned char* Chars(const char* p) { return reinterpret_cast<const unsigned char*>(p); }

struct CipherDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherDeleter>;

Cipher MakeCipher(const unsigned char* key, int encrypt) {
  Cipher cipher(EVP_CIPHER_CTX_new());
  if (cipher != nullptr &&
      EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key, nullptr, encrypt) != 1) {
    cipher.reset();
  }
  return cipher;
}

absl::Status CipherFailed() { return Unavailable("device store: the cipher failed"); }

}  // namespace

// Freeing a context erases its key.
struct Sealer::Body {
  std::string identity;
  Cipher seal, open;

  // Sets the nonce and feeds what is authenticated beside the bytes.
  bool Begin(EVP_CIPHER_CTX* cipher, const char* nonce, std::string_view row) const {
    int n = 0;
    return EVP_CipherInit_ex(cipher, nullptr, nullptr, nullptr, Chars(nonce), -1) == 1 &&
           EVP_CipherUpdate(cipher, nullptr, &n, Chars(identity.data()),
                            static_cast<int>(identity.size())) == 1 &&
           EVP_CipherUpdate(cipher, nullptr, &n, Chars(row.data()), static_cast<int>(row.size())) ==
               1;
  }
};

Sealer::Sealer() = default;
Sealer::~Sealer() = default;

absl::StatusOr<std::unique_ptr<Sealer>> Sealer::Create(std::string_view key,
                                                       std::string_view identity) {
  std::unique_ptr<Sealer> sealer(new Sealer);
  if (key.empty()) return sealer;
  if (key.size() != kKeyBytes) {
    return InvalidArgument("options.key must have ", kKeyBytes, " bytes, got ", key.size());
  }
  const std::string message = absl::StrCat(ToAbsl(kDomain), ToAbsl(identity));
  std::array<unsigned char, kKeyBytes> derived;
  unsigned int derived_bytes = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Chars(message.data()),
           message.size(), derived.data(), &derived_bytes) == nullptr ||
      derived_bytes != derived.size()) {
    return CipherFailed();
  }
  sealer->body_ = std::make_unique<Body>();
  sealer->body_->identity = std::string(identity);
  sealer->body_->seal = MakeCipher(derived.data(), 1);
  sealer->body_->open = MakeCipher(derived.data(), 0);
  explicit_bzero(derived.data(), derived.size());
  if (sealer->body_->seal == nullptr || sealer->body_->open == nullptr) return CipherFailed();
  return sealer;
}

absl::StatusOr<std::string> Sealer::Seal(std::string_view row, std::string_view plain) {
  if (!has_key()) return std::string(plain);
  std::string out(kHeaderBytes + plain.size() + kTagBytes, '\0');
  out[0] = kVersion;
  BANDANA_RETURN_IF_ERROR(
      SystemBits().Fill({reinterpret_cast<std::byte*>(out.data() + 1), kNonceBytes}));
  EVP_CIPHER_CTX* cipher = body_->seal.get();
  char* body = out.data() + kHeaderBytes;
  int n = 0;
  if (!body_->Begin(cipher, out.data() + 1, row) ||
      EVP_CipherUpdate(cipher, Chars(body), &n, Chars(plain.data()),
                       static_cast<int>(plain.size())) != 1 ||
      EVP_CipherFinal_ex(cipher, Chars(body + plain.size()), &n) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, kTagBytes, body + plain.size()) != 1) {
    return CipherFailed();
  }
  return out;
}

absl::StatusOr<std::string> Sealer::Open(std::string_view row, std::string_view stored) {
  if (!has_key()) return std::string(stored);
  const absl::Status refused =
      DataLoss("device store: sealed bytes were changed, or are of another row or store");
  if (stored.size() < kHeaderBytes + kTagBytes || stored[0] != kVersion) return refused;
  const std::size_t body_bytes = stored.size() - kHeaderBytes - kTagBytes;
  const char* body = stored.data() + kHeaderBytes;
  char tag[kTagBytes];
  memcpy(tag, body + body_bytes, kTagBytes);
  std::string plain(body_bytes, '\0');
  EVP_CIPHER_CTX* cipher = body_->open.get();
  int n = 0;
  char last[kTagBytes];
  if (!body_->Begin(cipher, stored.data() + 1, row) ||
      EVP_CipherUpdate(cipher, Chars(plain.data()), &n, Chars(body),
                       static_cast<int>(body_bytes)) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag) != 1 ||
      EVP_CipherFinal_ex(cipher, Chars(last), &n) != 1) {
    Erase(plain);
    return refused;
  }
  return plain;
}

}  // namespace bandana::device
