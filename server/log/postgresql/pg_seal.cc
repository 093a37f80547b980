#include "server/log/postgresql/pg_seal.h"

#include <openssl/crypto.h>

#include <array>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/log/postgresql/pg_secret.h"

namespace bandana::server {
namespace {

constexpr std::string_view kRecord = "bandana log record 1";
constexpr std::string_view kKey = "bandana log key 2 ";
constexpr std::string_view kFormerKey = "bandana log key 1";  // bound to no log

}  // namespace

absl::StatusOr<std::unique_ptr<PgSeal>> PgSeal::FromFile(const std::string& path, std::string log) {
  BANDANA_ASSIGN_OR_RETURN(AeadKey wrapping, DeriveFromKeyFile(path, "bandana log seal 1"));
  return std::unique_ptr<PgSeal>(new PgSeal(std::move(wrapping), std::move(log)));
}

std::string PgSeal::PurposeOf(std::int64_t id) const {
  std::string purpose = absl::StrCat(ToAbsl(kKey), log_);
  ByteWriter(purpose).U64(static_cast<std::uint64_t>(id));
  return purpose;
}

absl::StatusOr<std::string> PgSeal::NewKey(std::int64_t id) {
  std::array<std::byte, kAeadKeyBytes> secret{};
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(secret));
  absl::StatusOr<std::string> wrapped = SealUnder(wrapping_, AsChars(secret), PurposeOf(id));
  if (wrapped.ok()) Keep(id, secret);
  OPENSSL_cleanse(secret.data(), secret.size());
  return wrapped;
}

absl::Status PgSeal::AddKey(std::int64_t id, std::string_view wrapped) {
  absl::StatusOr<std::string> secret = OpenUnder(wrapping_, wrapped, PurposeOf(id));
  if (absl::IsDataLoss(secret.status())) secret = OpenUnder(wrapping_, wrapped, kFormerKey);
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
