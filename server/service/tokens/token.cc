#include "server/service/tokens/token.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "common/base/aead.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "server/service/tokens/random_buffer.h"
#include "server/service/tokens/token_payload.h"

namespace bandana::server {
namespace {

constexpr char kTokenVersion = 1;
constexpr std::size_t kKeyIdOffset = 1;
constexpr std::size_t kNonceOffset = 5;
constexpr std::size_t kHeaderBytes = kNonceOffset + kAeadNonceBytes;

// Keyed ciphers of this thread, AeadSealers or AeadOpeners. The key schedule and GHASH tables cost
// more than sealing a token, so they are kept; keys are told apart by their serial number, which is
// never used twice.
template <typename Cipher>
class CipherCache {
 public:
  // nullptr when OpenSSL fails (no memory).
  Cipher* Get(const TokenKey& key) {
    for (Entry& entry : entries_) {
      if (entry.serial == key.serial) return &*entry.cipher;
    }
    Entry& entry = entries_[next_++ % entries_.size()];
    entry = {};
    std::optional<Cipher> cipher = Cipher::Create(key.secret);
    if (!cipher) return nullptr;
    entry = {key.serial, std::move(cipher)};
    return &*entry.cipher;
  }

 private:
  struct Entry {
    std::uint64_t serial = 0;
    std::optional<Cipher> cipher;
  };
  std::array<Entry, 2> entries_;
  std::size_t next_ = 0;
};

template <typename Cipher>
Cipher* CipherOf(const TokenKey& key) {
  thread_local CipherCache<Cipher> cache;
  return cache.Get(key);
}

// Version and key id, which are authenticated too.
std::string_view HeaderOf(std::string_view token) { return token.substr(0, kNonceOffset); }

absl::Status NotATokenOfOurs() {
  return InvalidArgument("token: not sealed by this server's keys, or damaged");
}

}  // namespace

absl::Status TokenCodec::Seal(const Decision& decision, const AskedAlias* asked, std::size_t ranks,
                              std::string& token) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<const TokenKey> key, keys_.TakeSealingKey());
  token.clear();
  token.resize(kHeaderBytes);
  token[0] = kTokenVersion;
  std::memcpy(token.data() + kKeyIdOffset, &key->id, sizeof key->id);
  BANDANA_RETURN_IF_ERROR(
      FillRandom(AsWritableBytes(token).subspan<kNonceOffset, kAeadNonceBytes>()));
  EncodeDecision(decision, asked, ranks, token);
  token.resize(token.size() + kAeadTagBytes);

  AeadSealer* const sealer = CipherOf<AeadSealer>(*key);
  const std::span<std::byte> bytes = AsWritableBytes(token);
  if (sealer == nullptr ||
      !sealer->Seal(bytes.subspan<kNonceOffset, kAeadNonceBytes>(), HeaderOf(token),
                    bytes.subspan(kHeaderBytes, bytes.size() - kHeaderBytes - kAeadTagBytes),
                    bytes.last<kAeadTagBytes>())) {
    token.clear();  // it may hold plaintext
    return Unavailable("token: the cipher failed");
  }
  return absl::OkStatus();
}

absl::StatusOr<AskedDecision> TokenCodec::Open(std::string_view token) {
  if (token.size() <= kHeaderBytes + kAeadTagBytes || token.size() > kTokenBytesMax ||
      token[0] != kTokenVersion) {
    return NotATokenOfOurs();
  }
  std::uint32_t key_id = 0;
  std::memcpy(&key_id, token.data() + kKeyIdOffset, sizeof key_id);
  const std::shared_ptr<const TokenKey> key = keys_.Find(key_id);
  if (key == nullptr) return NotATokenOfOurs();

  AeadOpener* const opener = CipherOf<AeadOpener>(*key);
  if (opener == nullptr) return Unavailable("token: the cipher failed");
  std::string plain(token.substr(kHeaderBytes, token.size() - kHeaderBytes - kAeadTagBytes));
  if (!opener->Open(AsBytes(token).subspan<kNonceOffset, kAeadNonceBytes>(), HeaderOf(token),
                    AsWritableBytes(plain), AsBytes(token).last<kAeadTagBytes>())) {
    return NotATokenOfOurs();
  }
  std::optional<AskedDecision> decision = DecodeDecision(plain);
  if (!decision.has_value()) return NotATokenOfOurs();
  return *std::move(decision);
}

}  // namespace bandana::server
