#include "client/src/store/key_sealer.h"

#include <optional>
#include <span>
#include <utility>

#include "common/base/aead.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

constexpr std::string_view kDomain = "bandana-device-store-1";
constexpr char kVersion = 1;
constexpr std::size_t kHeaderBytes = 1 + kAeadNonceBytes;

absl::Status CipherFailed() { return Unavailable("device store: the cipher failed"); }

std::span<std::byte> WritableBytes(std::string& s) {
  return std::as_writable_bytes(std::span<char>(s));
}

}  // namespace

struct KeySealer::Body {
  std::string identity;
  AeadSealer seal;
  AeadOpener open;
};

KeySealer::KeySealer() = default;
KeySealer::~KeySealer() = default;

absl::StatusOr<std::unique_ptr<Sealer>> KeySealer::Create(std::string_view key,
                                                          std::string_view identity) {
  std::unique_ptr<KeySealer> sealer(new KeySealer);
  if (key.empty()) return sealer;
  if (key.size() != kKeyBytes) {
    return InvalidArgument("options.key must have ", kKeyBytes, " bytes, got ", key.size());
  }
  const std::optional<AeadKey> derived =
      AeadKey::Derive(AsBytes(key), absl::StrCat(ToAbsl(kDomain), ToAbsl(identity)));
  if (!derived) return CipherFailed();
  std::optional<AeadSealer> seal = AeadSealer::Create(*derived);
  std::optional<AeadOpener> open = AeadOpener::Create(*derived);
  if (!seal || !open) return CipherFailed();
  sealer->body_ =
      std::make_unique<Body>(Body{std::string(identity), *std::move(seal), *std::move(open)});
  return sealer;
}

absl::StatusOr<std::string> KeySealer::Seal(std::string_view row, std::string_view plain) {
  if (!has_key()) return std::string(plain);
  std::string out;
  out.reserve(kHeaderBytes + plain.size() + kAeadTagBytes);
  out.push_back(kVersion);
  out.append(kAeadNonceBytes, '\0');
  const auto nonce = WritableBytes(out).subspan<1, kAeadNonceBytes>();
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(nonce));
  out.append(plain).append(kAeadTagBytes, '\0');
  if (!body_->seal.Seal(nonce, absl::StrCat(body_->identity, ToAbsl(row)),
                        WritableBytes(out).subspan(kHeaderBytes, plain.size()),
                        WritableBytes(out).last<kAeadTagBytes>())) {
    return CipherFailed();
  }
  return out;
}

absl::StatusOr<std::string> KeySealer::Open(std::string_view row, std::string_view stored) {
  if (!has_key()) return std::string(stored);
  const absl::Status refused =
      DataLoss("device store: sealed bytes were changed, or are of another row or store");
  if (stored.size() < kHeaderBytes + kAeadTagBytes || stored[0] != kVersion) return refused;
  std::string plain(stored.substr(kHeaderBytes, stored.size() - kHeaderBytes - kAeadTagBytes));
  if (!body_->open.Open(AsBytes(stored).subspan<1, kAeadNonceBytes>(),
                        absl::StrCat(body_->identity, ToAbsl(row)), WritableBytes(plain),
                        AsBytes(stored).last<kAeadTagBytes>())) {
    return refused;
  }
  return plain;
}

}  // namespace bandana::device
