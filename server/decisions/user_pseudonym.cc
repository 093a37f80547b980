#include "server/decisions/user_pseudonym.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/base/bytes.h"
#include "common/base/erased_text.h"
#include "common/base/file.h"
#include "common/base/hmac.h"
#include "common/base/private_file.h"
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

absl::StatusOr<std::shared_ptr<const PseudonymKey>> Parse(std::string_view text,
                                                          const std::string& path) {
  std::array<std::byte, PseudonymKey::kBytes> bytes{};
  bool sound = text.size() == kFileBytes && text.back() == '\n';
  for (std::size_t i = 0; sound && i < bytes.size(); ++i) {
    const int high = Digit(text[2 * i]);
    const int low = Digit(text[2 * i + 1]);
    sound = high >= 0 && low >= 0;
    bytes[i] = static_cast<std::byte>(16 * high + low);
  }
  if (!sound) return DataLoss(path, ": must hold 64 hexadecimal digits and a line end");
  auto key = std::make_shared<const PseudonymKey>(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return key;
}

absl::Status MakeFile(const std::string& path) {
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
  return WriteFileDurably(path, file.text, 0600);
}

}  // namespace

PseudonymKey::PseudonymKey(std::span<const std::byte, kBytes> bytes) {
  std::ranges::copy(bytes, bytes_.begin());
}

PseudonymKey::~PseudonymKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

absl::StatusOr<UserPseudonym> PseudonymKey::Of(std::string_view text) const {
  Sha256Digest digest;
  if (!HmacSha256(bytes_, text, digest)) return Unavailable("HMAC-SHA256 failed");
  UserPseudonym user;
  std::memcpy(user.data(), digest.data(), user.size());
  // Zeros stand for a user who was deleted.
  if (user == UserPseudonym{}) user.back() = std::byte{1};
  return user;
}

absl::StatusOr<std::shared_ptr<const PseudonymKey>> NewPseudonymKey() {
  std::array<std::byte, PseudonymKey::kBytes> bytes{};
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(bytes));
  auto key = std::make_shared<const PseudonymKey>(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return key;
}

absl::StatusOr<std::shared_ptr<const PseudonymKey>> OpenPseudonymKey(const std::string& data_dir) {
  const std::string path = data_dir + "/decision_key";
  absl::StatusOr<std::string> text = ReadPrivateFile(path, kFileBytes + 1);
  if (absl::IsNotFound(text.status())) {
    BANDANA_RETURN_IF_ERROR(MakeFile(path));
    text = ReadPrivateFile(path, kFileBytes + 1);
  }
  BANDANA_RETURN_IF_ERROR(text.status());
  const ErasedText file{*std::move(text)};
  return Parse(file.text, path);
}

}  // namespace bandana::server
