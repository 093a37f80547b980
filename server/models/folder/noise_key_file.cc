#include "server/models/folder/noise_key_file.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/base/erased_text.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace bandana::server {
namespace {

// Magic, 32 key bytes, SHA-256 of both.
constexpr std::string_view kNoiseKeyMagic = "BANDNKY1";
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kFileBytes = kNoiseKeyMagic.size() + kKeyBytes + sizeof(Sha256Digest);

absl::Status MakeFile(const std::string& path, BitSource& bits) {
  std::array<std::byte, kKeyBytes> key{};
  BANDANA_RETURN_IF_ERROR(bits.Fill(key));
  ErasedText file;
  file.text.reserve(kFileBytes);
  file.text.append(kNoiseKeyMagic).append(AsChars(key));
  OPENSSL_cleanse(key.data(), key.size());
  const Sha256Digest digest = Sha256Of(file.text);
  file.text.append(AsChars(digest));
  return WriteFileDurably(path, file.text, 0600);
}

std::string PathIn(const std::string& data_dir) { return data_dir + "/noise_key"; }

}  // namespace

bool HasNoiseKey(const std::string& data_dir) {
  struct stat info {};
  return ::lstat(PathIn(data_dir).c_str(), &info) == 0;
}

absl::StatusOr<std::shared_ptr<const NoiseKey>> NewNoiseKey(BitSource& bits) {
  std::array<std::byte, kKeyBytes> bytes{};
  BANDANA_RETURN_IF_ERROR(bits.Fill(bytes));
  absl::StatusOr<NoiseKey> key = NoiseKey::FromBytes(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  BANDANA_RETURN_IF_ERROR(key.status());
  return std::make_shared<const NoiseKey>(*std::move(key));
}

absl::StatusOr<std::shared_ptr<const NoiseKey>> OpenNoiseKey(const std::string& data_dir,
                                                             BitSource& bits) {
  const std::string path = PathIn(data_dir);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return Unavailable("cannot look at ", path);
    BANDANA_RETURN_IF_ERROR(MakeFile(path, bits));
  } else if (!S_ISREG(info.st_mode) || (info.st_mode & 077) != 0) {
    return FailedPrecondition(path,
                              " must be a regular file of mode 0600: whoever reads it can take the "
                              "noise off what this server has published");
  }
  BANDANA_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kFileBytes + 1));
  ErasedText file{std::move(text)};
  const std::string_view all = file.text;
  if (all.size() != kFileBytes || !all.starts_with(kNoiseKeyMagic) ||
      AsChars(Sha256Of(all.substr(0, kNoiseKeyMagic.size() + kKeyBytes))) !=
          all.substr(kNoiseKeyMagic.size() + kKeyBytes)) {
    return DataLoss(path, ": damaged");
  }
  BANDANA_ASSIGN_OR_RETURN(
      NoiseKey key, NoiseKey::FromBytes(AsBytes(all.substr(kNoiseKeyMagic.size(), kKeyBytes))));
  return std::make_shared<const NoiseKey>(std::move(key));
}

absl::StatusOr<std::shared_ptr<const NoiseKey>> ReadNoiseKey(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (!S_ISREG(info.st_mode) || (info.st_mode & 077) != 0)) {
    return FailedPrecondition(path, " must be a regular file of mode 0600");
  }
  BANDANA_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, 4096));
  const ErasedText file{std::move(text)};
  const absl::string_view digits = absl::StripTrailingAsciiWhitespace(file.text);
  const bool hexadecimal = std::all_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  if (!hexadecimal || digits.size() != 2 * kKeyBytes) {
    return InvalidArgument(path, " must hold ", 2 * kKeyBytes,
                           " hexadecimal digits and nothing else");
  }
  const ErasedText bytes{absl::HexStringToBytes(digits)};
  BANDANA_ASSIGN_OR_RETURN(NoiseKey key, NoiseKey::FromBytes(AsBytes(bytes.text)));
  return std::make_shared<const NoiseKey>(std::move(key));
}

}  // namespace bandana::server
