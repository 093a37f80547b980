#include "common/base/aead.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>

#include "common/base/hmac.h"

namespace bandana {
namespace {

// EVP takes lengths as int.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

unsigned char* Chars(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }
const unsigned char* Chars(const std::byte* p) { return reinterpret_cast<const unsigned char*>(p); }

// Bytes that were not sealed or opened to the end stay nowhere.
bool Refuse(std::span<std::byte> body) {
  OPENSSL_cleanse(body.data(), body.size());
  ERR_clear_error();
  return false;
}

}  // namespace

AeadKey::AeadKey(std::span<const std::byte, kAeadKeyBytes> bytes) {
  std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

std::optional<AeadKey> AeadKey::Derive(std::span<const std::byte> secret,
                                       std::string_view purpose) {
  Sha256Digest digest{};
  std::optional<AeadKey> key;
  if (HmacSha256(secret, purpose, digest)) key.emplace(digest);
  OPENSSL_cleanse(digest.data(), digest.size());
  return key;
}

AeadKey::AeadKey(AeadKey&& other) noexcept : bytes_(other.bytes_) {
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
}

AeadKey& AeadKey::operator=(AeadKey&& other) noexcept {
  if (this == &other) return *this;
  bytes_ = other.bytes_;
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
  return *this;
}

AeadKey::~AeadKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

void AeadCipher::Free::operator()(evp_cipher_ctx_st* context) const {
  EVP_CIPHER_CTX_free(context);
}

AeadCipher::AeadCipher(const AeadKey& key, Direction direction) : context_(EVP_CIPHER_CTX_new()) {
  if (context_ != nullptr && EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr,
                                               Chars(key.bytes_.data()), nullptr, direction) == 1) {
    return;
  }
  context_.reset();
  ERR_clear_error();
}

bool AeadCipher::Begin(std::span<const std::byte, kAeadNonceBytes> nonce,
                       std::string_view associated) {
  int n = 0;
  return EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, Chars(nonce.data()), -1) ==
             1 &&
         (associated.empty() ||
          EVP_CipherUpdate(context_.get(), nullptr, &n, Chars(AsBytes(associated).data()),
                           static_cast<int>(associated.size())) == 1);
}

bool AeadCipher::Pass(std::span<std::byte> body) {
  int n = 0;
  // In place: GCM is a stream cipher, its output is as long as its input.
  while (!body.empty()) {
    const std::span<std::byte> piece = body.first(std::min(body.size(), kPieceBytes));
    const int size = static_cast<int>(piece.size());
    if (EVP_CipherUpdate(context_.get(), Chars(piece.data()), &n, Chars(piece.data()), size) != 1 ||
        n != size) {
      return false;
    }
    body = body.subspan(piece.size());
  }
  return true;
}

bool AeadCipher::Finish() {
  std::array<unsigned char, kAeadTagBytes> rest{};  // GCM leaves nothing to write
  int n = 0;
  return EVP_CipherFinal_ex(context_.get(), rest.data(), &n) == 1 && n == 0;
}

std::optional<AeadSealer> AeadSealer::Create(const AeadKey& key) {
  AeadSealer sealer(key);
  if (!sealer) return std::nullopt;
  return sealer;
}

bool AeadSealer::Seal(std::span<const std::byte, kAeadNonceBytes> nonce,
                      std::string_view associated, std::span<std::byte> body,
                      std::span<std::byte, kAeadTagBytes> tag) {
  return (Begin(nonce, associated) && Pass(body) && End(tag)) || Refuse(body);
}

bool AeadSealer::Piece(std::span<std::byte> piece) { return Pass(piece) || Refuse(piece); }

bool AeadSealer::End(std::span<std::byte, kAeadTagBytes> tag) {
  return Finish() &&
         EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kAeadTagBytes, tag.data()) == 1;
}

std::optional<AeadOpener> AeadOpener::Create(const AeadKey& key) {
  AeadOpener opener(key);
  if (!opener) return std::nullopt;
  return opener;
}

bool AeadOpener::Open(std::span<const std::byte, kAeadNonceBytes> nonce,
                      std::string_view associated, std::span<std::byte> body,
                      std::span<const std::byte, kAeadTagBytes> tag) {
  std::array<std::byte, kAeadTagBytes> expected{};  // OpenSSL takes it as mutable
  std::copy(tag.begin(), tag.end(), expected.begin());
  const bool opened = Begin(nonce, associated) && Pass(body) &&
                      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kAeadTagBytes,
                                          expected.data()) == 1 &&
                      Finish();
  return opened || Refuse(body);
}

}  // namespace bandana
