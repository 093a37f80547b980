#include "server/service/tokens/token.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "common/base/status.h"
#include "server/service/tokens/random_buffer.h"
#include "server/service/tokens/token_payload.h"

namespace bandana::server {
namespace {

constexpr char kVersion = 1;
constexpr std::size_t kKeyIdOffset = 1;
constexpr std::size_t kNonceOffset = 5;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kHeaderBytes = kNonceOffset + kNonceBytes;
constexpr std::size_t kTagBytes = 16;

unsigned char* Chars(char* p) { return reinterpret_cast<unsigned char*>(p); }
const unsigned char* Chars(const char* p) { return reinterpret_cast<const unsigned char*>(p); }

struct CipherDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherDeleter>;

// Keyed contexts of this thread. The key schedule and GHASH tables cost more than sealing a token,
// so they are kept; keys are told apart by their serial number, which is never used twice. Freeing
// a context erases its key.
class CipherCache {
 public:
  enum Direction { kOpen = 0, kSeal = 1 };

  // nullptr when OpenSSL fails (no memory).
  EVP_CIPHER_CTX* Get(const TokenKey& key, Direction direction) {
    for (Entry& entry : entries_) {
      if (entry.serial == key.serial && entry.direction == direction) return entry.cipher.get();
    }
    Entry& entry = entries_[next_++ % entries_.size()];
    entry = {};
    Cipher cipher(EVP_CIPHER_CTX_new());
    if (cipher == nullptr ||
        EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr,
                          reinterpret_cast<const unsigned char*>(key.secret.data()), nullptr,
                          direction) != 1) {
      return nullptr;
    }
    entry = {key.serial, direction, std::move(cipher)};
    return entry.cipher.get();
  }

 private:
  struct Entry {
    std::uint64_t serial = 0;
    Direction direction = kOpen;
    Cipher cipher;
  };
  std::array<Entry, 4> entries_;
  std::size_t next_ = 0;
};

CipherCache& Ciphers() {
  thread_local CipherCache cache;
  return cache;
}

// Sets the nonce and feeds the authenticated header.
bool Begin(EVP_CIPHER_CTX* cipher, const char* header) {
  int n = 0;
  return EVP_CipherInit_ex(cipher, nullptr, nullptr, nullptr, Chars(header + kNonceOffset), -1) ==
             1 &&
         EVP_CipherUpdate(cipher, nullptr, &n, Chars(header), kNonceOffset) == 1;
}

absl::Status NotATokenOfOurs() {
  return InvalidArgument("token: not sealed by this server's keys, or damaged");
}

}  // namespace

absl::Status TokenCodec::Seal(const Decision& decision, std::string& token) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<const TokenKey> key, keys_.TakeSealingKey());
  token.clear();
  token.resize(kHeaderBytes);
  token[0] = kVersion;
  std::memcpy(token.data() + kKeyIdOffset, &key->id, sizeof key->id);
  BANDANA_RETURN_IF_ERROR(
      FillRandom({reinterpret_cast<std::byte*>(token.data() + kNonceOffset), kNonceBytes}));
  EncodeDecision(decision, token);
  const int plain_bytes = static_cast<int>(token.size() - kHeaderBytes);
  token.resize(token.size() + kTagBytes);

  EVP_CIPHER_CTX* cipher = Ciphers().Get(*key, CipherCache::kSeal);
  char* body = token.data() + kHeaderBytes;
  int n = 0;
  // In place: GCM is a stream cipher, its output is as long as its input.
  if (cipher == nullptr || !Begin(cipher, token.data()) ||
      EVP_CipherUpdate(cipher, Chars(body), &n, Chars(body), plain_bytes) != 1 ||
      n != plain_bytes || EVP_CipherFinal_ex(cipher, Chars(body + plain_bytes), &n) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, kTagBytes, body + plain_bytes) != 1) {
    token.clear();  // it may hold plaintext
    return Unavailable("token: the cipher failed");
  }
  return absl::OkStatus();
}

absl::StatusOr<Decision> TokenCodec::Open(std::string_view token) {
  if (token.size() <= kHeaderBytes + kTagBytes || token.size() > kTokenBytesMax ||
      token[0] != kVersion) {
    return NotATokenOfOurs();
  }
  std::uint32_t key_id = 0;
  std::memcpy(&key_id, token.data() + kKeyIdOffset, sizeof key_id);
  const std::shared_ptr<const TokenKey> key = keys_.Find(key_id);
  if (key == nullptr) return NotATokenOfOurs();

  const int body_bytes = static_cast<int>(token.size() - kHeaderBytes - kTagBytes);
  const char* body = token.data() + kHeaderBytes;
  char tag[kTagBytes];
  std::memcpy(tag, body + body_bytes, kTagBytes);
  std::string plain(static_cast<std::size_t>(body_bytes), '\0');
  EVP_CIPHER_CTX* cipher = Ciphers().Get(*key, CipherCache::kOpen);
  int n = 0;
  if (cipher == nullptr) return Unavailable("token: the cipher failed");
  if (!Begin(cipher, token.data()) ||
      EVP_CipherUpdate(cipher, Chars(plain.data()), &n, Chars(body), body_bytes) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag) != 1 ||
      EVP_CipherFinal_ex(cipher, Chars(plain.data()), &n) != 1) {
    return NotATokenOfOurs();
  }
  std::optional<Decision> decision = DecodeDecision(plain);
  if (!decision.has_value()) return NotATokenOfOurs();
  return *std::move(decision);
}

}  // namespace bandana::server
