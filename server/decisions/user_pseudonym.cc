#include "server/decisions/user_pseudonym.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <cstring>
#include <string>

#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/private_file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

// Read as text, so the key is hexadecimal digits and a line end.
constexpr std::size_t kFileBytes = 2 * PseudonymKey::kBytes + 1;

int Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void PseudonymKey::Free::operator()(evp_mac_ctx_st* context) const { EVP_MAC_CTX_free(context); }

PseudonymKey::~PseudonymKey() = default;

absl::StatusOr<std::shared_ptr<const PseudonymKey>> PseudonymKey::Make(
    std::span<const std::byte, kBytes> bytes) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> hmac(
      EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr), &EVP_MAC_free);
  char digest[] = OSSL_DIGEST_NAME_SHA2_256;
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  Context context(hmac == nullptr ? nullptr : EVP_MAC_CTX_new(hmac.get()));
  const bool made =
      context != nullptr &&
      EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                   bytes.size(), parameters) == 1;
  if (!made) {
    ERR_clear_error();
    return Unavailable("HMAC-SHA256 failed");
  }
  return std::shared_ptr<const PseudonymKey>(new PseudonymKey(std::move(context)));
}

absl::StatusOr<UserPseudonym> PseudonymKey::Of(std::string_view text) const {
  Sha256Digest digest;
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const bool made =
        EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1 &&
        EVP_MAC_update(context_.get(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size()) == 1 &&
        EVP_MAC_final(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &bytes,
                      digest.size()) == 1;
    if (!made || bytes != digest.size()) {
      ERR_clear_error();
      return Unavailable("HMAC-SHA256 failed");
    }
  }
  UserPseudonym user;
  std::memcpy(user.data(), digest.data(), user.size());
  // Zeros stand for a user who was deleted.
  if (user == UserPseudonym{}) user.back() = std::byte{1};
  return user;
}

absl::StatusOr<std::shared_ptr<const PseudonymKey>> NewPseudonymKey() {
  std::array<std::byte, PseudonymKey::kBytes> bytes{};
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(bytes));
  auto key = PseudonymKey::Make(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return key;
}

absl::StatusOr<std::shared_ptr<const PseudonymKey>> ParsePseudonymKey(std::string_view text,
                                                                      const std::string& where) {
  std::array<std::byte, PseudonymKey::kBytes> bytes{};
  bool sound = text.size() == kFileBytes && text.back() == '\n';
  for (std::size_t i = 0; sound && i < bytes.size(); ++i) {
    const int high = Digit(text[2 * i]);
    const int low = Digit(text[2 * i + 1]);
    sound = high >= 0 && low >= 0;
    bytes[i] = static_cast<std::byte>(16 * high + low);
  }
  if (!sound) return DataLoss(where, ": must hold 64 hexadecimal digits and a line end");
  auto key = PseudonymKey::Make(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return key;
}

absl::StatusOr<ErasedText> NewPseudonymKeyText() {
  std::array<std::byte, PseudonymKey::kBytes> bytes{};
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(bytes));
  constexpr std::string_view kDigits = "0123456789abcdef";
  ErasedText file;
  file.text.reserve(kFileBytes);
  for (const std::byte byte : bytes) {
    file.text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    file.text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  file.text += '\n';
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return file;
}

absl::StatusOr<std::shared_ptr<const PseudonymKey>> OpenPseudonymKey(const std::string& data_dir) {
  const std::string path = data_dir + "/decision_key";
  absl::StatusOr<std::string> text = ReadPrivateFile(path, kFileBytes + 1);
  if (absl::IsNotFound(text.status())) {
    BANDANA_ASSIGN_OR_RETURN(const ErasedText made, NewPseudonymKeyText());
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(path, made.text, 0600));
    text = ReadPrivateFile(path, kFileBytes + 1);
  }
  BANDANA_RETURN_IF_ERROR(text.status());
  const ErasedText file{*std::move(text)};
  return ParsePseudonymKey(file.text, path);
}

}  // namespace bandana::server
