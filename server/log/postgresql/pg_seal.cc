#include "server/log/postgresql/pg_seal.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

constexpr std::size_t kOverhead = kAeadNonceBytes + kAeadTagBytes;

std::span<std::byte> WritableBytes(std::string& s) { return std::as_writable_bytes(std::span(s)); }

// nonce | ciphertext | tag
absl::StatusOr<std::string> SealUnder(const AeadKey& key, std::string_view plain,
                                      std::string_view purpose) {
  std::string sealed(kAeadNonceBytes, '\0');
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(WritableBytes(sealed)));
  sealed += plain;
  sealed.resize(sealed.size() + kAeadTagBytes);
  const std::span<std::byte> bytes = WritableBytes(sealed);
  std::optional<AeadSealer> sealer = AeadSealer::Create(key);
  if (!sealer ||
      !sealer->Seal(bytes.first<kAeadNonceBytes>(), purpose,
                    bytes.subspan(kAeadNonceBytes, plain.size()), bytes.last<kAeadTagBytes>())) {
    return Unavailable("the cipher of the log failed");
  }
  return sealed;
}

absl::StatusOr<std::string> OpenUnder(const AeadKey& key, std::string_view sealed,
                                      std::string_view purpose) {
  if (sealed.size() < kOverhead) return DataLoss("too short to be sealed");
  const std::span<const std::byte> bytes = AsBytes(sealed);
  std::string plain(sealed.substr(kAeadNonceBytes, sealed.size() - kOverhead));
  std::optional<AeadOpener> opener = AeadOpener::Create(key);
  if (!opener) return Unavailable("the cipher of the log failed");
  if (!opener->Open(bytes.first<kAeadNonceBytes>(), purpose, WritableBytes(plain),
                    bytes.last<kAeadTagBytes>())) {
    return DataLoss("its seal does not match its content");
  }
  return plain;
}

constexpr std::string_view kRecord = "bandana log record 1";
constexpr std::string_view kKey = "bandana log key 1";

}  // namespace

absl::StatusOr<std::unique_ptr<PgSeal>> PgSeal::FromFile(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (!S_ISREG(info.st_mode) || (info.st_mode & 077) != 0)) {
    return FailedPrecondition(path,
                              " must be a regular file that only its owner can read (mode"
                              " 0600)");
  }
  BANDANA_ASSIGN_OR_RETURN(std::string text, ReadFile(path, 4096));
  const absl::string_view digits = absl::StripTrailingAsciiWhitespace(text);
  const bool hexadecimal =
      std::all_of(digits.begin(), digits.end(), [](char c) { return absl::ascii_isxdigit(c); });
  std::optional<AeadKey> wrapping;
  if (hexadecimal && digits.size() == 2 * kAeadKeyBytes) {
    std::string key = absl::HexStringToBytes(digits);
    wrapping = AeadKey::Derive(AsBytes(key), "bandana log seal 1");
    OPENSSL_cleanse(key.data(), key.size());
  }
  OPENSSL_cleanse(text.data(), text.size());
  if (!wrapping) {
    return InvalidArgument(path, " must hold ", 2 * kAeadKeyBytes,
                           " hexadecimal digits and nothing else");
  }
  return std::unique_ptr<PgSeal>(new PgSeal(*std::move(wrapping)));
}

absl::StatusOr<std::string> PgSeal::NewKey(std::int64_t id) {
  std::array<std::byte, kAeadKeyBytes> secret{};
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(secret));
  absl::StatusOr<std::string> wrapped = SealUnder(wrapping_, AsChars(secret), kKey);
  if (wrapped.ok()) Keep(id, secret);
  OPENSSL_cleanse(secret.data(), secret.size());
  return wrapped;
}

absl::Status PgSeal::AddKey(std::int64_t id, std::string_view wrapped) {
  absl::StatusOr<std::string> secret = OpenUnder(wrapping_, wrapped, kKey);
  if (!secret.ok() || secret->size() != kAeadKeyBytes) {
    return FailedPrecondition("the log is sealed under another key than that of key_file");
  }
  Keep(id, AsBytes(*secret).first<kAeadKeyBytes>());
  OPENSSL_cleanse(secret->data(), secret->size());
  return absl::OkStatus();
}

void PgSeal::Keep(std::int64_t id, std::span<const std::byte, kAeadKeyBytes> secret) {
  auto key = std::make_shared<const AeadKey>(secret);
  const std::lock_guard lock(mutex_);
  keys_[id] = std::move(key);
}

void PgSeal::ForgetBefore(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  keys_.erase(keys_.begin(), keys_.lower_bound(id));
}

std::shared_ptr<const AeadKey> PgSeal::Find(std::int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto known = keys_.find(id);
  return known == keys_.end() ? nullptr : known->second;
}

absl::StatusOr<std::string> PgSeal::Seal(std::int64_t key, std::string_view record) const {
  const std::shared_ptr<const AeadKey> known = Find(key);
  if (known == nullptr) return Unavailable("the log has no key to seal with");
  return SealUnder(*known, record, kRecord);
}

absl::StatusOr<std::string> PgSeal::Open(std::int64_t key, std::string_view sealed) const {
  const std::shared_ptr<const AeadKey> known = Find(key);
  if (known == nullptr) return DataLoss("key ", key, " of the log is missing");
  return OpenUnder(*known, sealed, kRecord);
}

}  // namespace bandana::server
