#include "server/log/postgresql/pg_secret.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/hmac.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

constexpr std::size_t kOverhead = kAeadNonceBytes + kAeadTagBytes;

// The content of a key file, erased when it goes.
class Secret {
 public:
  // Errors: of DeriveFromKeyFile.
  static absl::StatusOr<Secret> Read(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && (!S_ISREG(info.st_mode) || (info.st_mode & 077) != 0)) {
      return FailedPrecondition(path,
                                " must be a regular file that only its owner can read (mode"
                                " 0600)");
    }
    BANDANA_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, 4096));
    const absl::string_view digits = absl::StripTrailingAsciiWhitespace(text);
    const bool hexadecimal =
        std::all_of(digits.begin(), digits.end(), [](char c) { return absl::ascii_isxdigit(c); });
    Secret secret;
    if (hexadecimal && digits.size() == 2 * kAeadKeyBytes) {
      secret.bytes_ = absl::HexStringToBytes(digits);
    }
    OPENSSL_cleanse(text.data(), text.size());
    if (!secret.bytes_.empty()) return secret;
    return InvalidArgument(path, " must hold ", 2 * kAeadKeyBytes,
                           " hexadecimal digits and nothing else");
  }
  ~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  Secret(Secret&&) = default;
  Secret& operator=(Secret&&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  Secret() = default;
  std::string bytes_;
};

}  // namespace

absl::StatusOr<AeadKey> DeriveFromKeyFile(const std::string& path, std::string_view purpose) {
  BANDANA_ASSIGN_OR_RETURN(const Secret secret, Secret::Read(path));
  std::optional<AeadKey> key = AeadKey::Derive(AsBytes(secret.bytes()), purpose);
  if (!key) return Unavailable(path, ": OpenSSL failed");
  return *std::move(key);
}

absl::StatusOr<Sha256Digest> SecretFromKeyFile(const std::string& path, std::string_view purpose) {
  BANDANA_ASSIGN_OR_RETURN(const Secret secret, Secret::Read(path));
  Sha256Digest digest{};
  if (!HmacSha256(AsBytes(secret.bytes()), purpose, digest)) {
    return Unavailable(path, ": OpenSSL failed");
  }
  return digest;
}

absl::StatusOr<std::string> SealUnder(const AeadKey& key, std::string_view plain,
                                      std::string_view purpose) {
  std::string sealed(kAeadNonceBytes, '\0');
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(AsWritableBytes(sealed)));
  sealed += plain;
  sealed.resize(sealed.size() + kAeadTagBytes);
  const std::span<std::byte> bytes = AsWritableBytes(sealed);
  std::optional<AeadSealer> sealer = AeadSealer::Create(key);
  if (!sealer ||
      !sealer->Seal(bytes.first<kAeadNonceBytes>(), purpose,
                    bytes.subspan(kAeadNonceBytes, plain.size()), bytes.last<kAeadTagBytes>())) {
    return Unavailable("the cipher of what PostgreSQL keeps failed");
  }
  return sealed;
}

absl::StatusOr<std::string> OpenUnder(const AeadKey& key, std::string_view sealed,
                                      std::string_view purpose) {
  if (sealed.size() < kOverhead) return DataLoss("too short to be sealed");
  const std::span<const std::byte> bytes = AsBytes(sealed);
  std::string plain(sealed.substr(kAeadNonceBytes, sealed.size() - kOverhead));
  std::optional<AeadOpener> opener = AeadOpener::Create(key);
  if (!opener) return Unavailable("the cipher of what PostgreSQL keeps failed");
  if (!opener->Open(bytes.first<kAeadNonceBytes>(), purpose, AsWritableBytes(plain),
                    bytes.last<kAeadTagBytes>())) {
    return DataLoss("its seal does not match its content");
  }
  return plain;
}

}  // namespace bandana::server
