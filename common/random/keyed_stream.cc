#include "common/random/keyed_stream.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/check.h"
#include "common/base/free_with.h"
#include "common/base/hmac.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kKeystreamBlockBytes = 1024;
constexpr std::uint64_t kStreamBytesMax = std::uint64_t{1} << 60;

void AppendInteger(std::string& text, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) text.push_back(static_cast<char>(value >> shift));
}

}  // namespace

absl::StatusOr<NoiseKey> NoiseKey::Generate(BitSource& bits) {
  NoiseKey key;
  BANDANA_RETURN_IF_ERROR(bits.Fill(key.bytes_));
  return key;
}

absl::StatusOr<NoiseKey> NoiseKey::FromBytes(std::span<const std::byte> bytes) {
  NoiseKey key;
  if (bytes.size() != key.bytes_.size()) {
    return InvalidArgument("noise key must have 32 bytes, got ", bytes.size());
  }
  std::copy(bytes.begin(), bytes.end(), key.bytes_.begin());
  return key;
}

NoiseKey::NoiseKey(NoiseKey&& other) noexcept : bytes_(other.bytes_) {
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
}

NoiseKey& NoiseKey::operator=(NoiseKey&& other) noexcept {
  if (this != &other) {
    bytes_ = other.bytes_;
    OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
  }
  return *this;
}

NoiseKey::~NoiseKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

// The cipher's output in blocks, each byte erased as it is given out.
struct KeyedStream::Impl {
  ~Impl() { OPENSSL_cleanse(block.data(), block.size()); }
  absl::Status Refill();

  std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>> cipher{EVP_CIPHER_CTX_new()};
  std::array<std::byte, kKeystreamBlockBytes> block{};
  std::size_t next = kKeystreamBlockBytes;
  std::uint64_t made = 0;
};

absl::Status KeyedStream::Impl::Refill() {
  if (made >= kStreamBytesMax) return Unavailable("entropy: keyed stream is used up");
  block.fill(std::byte{0});
  auto* const bytes = reinterpret_cast<unsigned char*>(block.data());
  int written = 0;
  if (EVP_EncryptUpdate(cipher.get(), bytes, &written, bytes, kKeystreamBlockBytes) != 1 ||
      written != kKeystreamBlockBytes) {
    ERR_clear_error();
    made = kStreamBytesMax;  // the stream's position is unknown: it ends here
    OPENSSL_cleanse(block.data(), block.size());
    return Unavailable("entropy: keyed stream failed");
  }
  made += kKeystreamBlockBytes;
  next = 0;
  return absl::OkStatus();
}

KeyedStream::KeyedStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KeyedStream::KeyedStream(KeyedStream&&) noexcept = default;
KeyedStream& KeyedStream::operator=(KeyedStream&&) noexcept = default;
KeyedStream::~KeyedStream() = default;

absl::StatusOr<KeyedStream> KeyedStream::Create(std::span<const std::byte, 32> chacha_key) {
  auto impl = std::make_unique<Impl>();
  const std::array<unsigned char, 16> counter_and_nonce{};
  if (impl->cipher == nullptr ||
      EVP_EncryptInit_ex(impl->cipher.get(), EVP_chacha20(), nullptr,
                         reinterpret_cast<const unsigned char*>(chacha_key.data()),
                         counter_and_nonce.data()) != 1) {
    ERR_clear_error();
    return Unavailable("entropy: keyed stream failed");
  }
  return KeyedStream(std::move(impl));
}

std::string KeyedStream::Encode(const NoiseAddress& address) {
  const std::optional<Sha256Digest>& input = address.input.digest_;
  std::string text = input ? "bandana noise 2" : "bandana noise 1";
  text += AsChars(address.instance);
  AppendInteger(text, address.epoch);
  text += AsChars(address.parameters);
  AppendInteger(text, address.stream);
  AppendInteger(text, address.node);
  text += AsChars(address.history);
  if (input) text += AsChars(*input);
  return text;
}

absl::StatusOr<KeyedStream> KeyedStream::ForNode(const NoiseKey& key, const NoiseAddress& address) {
  const std::string text = Encode(address);
  Sha256Digest subkey{};
  if (!HmacSha256(key.bytes_, text, subkey)) return Unavailable("entropy: keyed stream failed");
  absl::StatusOr<KeyedStream> stream = Create(subkey);
  OPENSSL_cleanse(subkey.data(), subkey.size());
  return stream;
}

absl::StatusOr<KeyedStream> KeyedStream::FromPublicSeed(const PublicSeed& seed) {
  std::string text = "bandana seed 1";
  text += AsChars(seed);
  return Create(Sha256Of(text));
}

absl::Status KeyedStream::Fill(std::span<std::byte> out) {
  for (std::span<std::byte> rest = out; !rest.empty();) {
    if (impl_->next == kKeystreamBlockBytes) {
      if (absl::Status status = impl_->Refill(); !status.ok()) {
        OPENSSL_cleanse(out.data(), out.size());
        return status;
      }
    }
    const std::size_t chunk = std::min(rest.size(), kKeystreamBlockBytes - impl_->next);
    std::byte* const source = impl_->block.data() + impl_->next;
    std::memcpy(rest.data(), source, chunk);
    OPENSSL_cleanse(source, chunk);
    impl_->next += chunk;
    rest = rest.subspan(chunk);
  }
  return absl::OkStatus();
}

}  // namespace bandana
