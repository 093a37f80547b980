#include "server/models/folder/checkpoint_seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kMagic = "BANDSEAL";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kHeaderBytes = kMagic.size() + sizeof kVersion + 16 + kNonceBytes;
constexpr std::size_t kTrailerBytes = kTagBytes + sizeof(Sha256Digest);
// EVP takes lengths as int.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

struct CipherDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }  // erases
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherDeleter>;

const unsigned char* Chars(std::string_view s) {
  return reinterpret_cast<const unsigned char*>(s.data());
}

absl::Status CipherFailed() { return Unavailable("checkpoint: the cipher failed"); }

bool Derive(std::span<const std::byte> key, std::string_view purpose, std::span<std::byte> out) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const bool made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Chars(purpose),
                         purpose.size(), digest.data(), &size) != nullptr;
  std::copy_n(reinterpret_cast<const std::byte*>(digest.data()), out.size(), out.data());
  OPENSSL_cleanse(digest.data(), digest.size());
  return made && size >= out.size();
}

// With the nonce at the header's end set, and the header authenticated.
Cipher Begin(std::span<const std::byte> key, std::string_view header, bool encrypt) {
  Cipher cipher(EVP_CIPHER_CTX_new());
  int n = 0;
  if (cipher == nullptr ||
      EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr,
                        reinterpret_cast<const unsigned char*>(key.data()),
                        Chars(header.substr(header.size() - kNonceBytes)), encrypt ? 1 : 0) != 1 ||
      EVP_CipherUpdate(cipher.get(), nullptr, &n, Chars(header), static_cast<int>(header.size())) !=
          1) {
    return nullptr;
  }
  return cipher;
}

bool Update(EVP_CIPHER_CTX* cipher, std::string_view in, std::string& out) {
  out.reserve(out.size() + in.size() + kTrailerBytes);
  while (!in.empty()) {
    const std::string_view piece = in.substr(0, kPieceBytes);
    const std::size_t at = out.size();
    out.resize(at + piece.size());
    int n = 0;
    if (EVP_CipherUpdate(cipher, reinterpret_cast<unsigned char*>(out.data() + at), &n,
                         Chars(piece), static_cast<int>(piece.size())) != 1) {
      return false;
    }
    in.remove_prefix(piece.size());
  }
  return true;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CheckpointSeal>> CheckpointSeal::Create(
    std::span<const std::byte> key) {
  if (key.size() != kKeyBytes) {
    return InvalidArgument("a checkpoint key must have ", kKeyBytes, " bytes, got ", key.size());
  }
  std::shared_ptr<CheckpointSeal> seal(new CheckpointSeal);
  if (!Derive(key, "bandana checkpoint seal 1", seal->key_) ||
      !Derive(key, "bandana checkpoint key 1", seal->key_id_)) {
    return CipherFailed();
  }
  return std::shared_ptr<const CheckpointSeal>(std::move(seal));
}

absl::StatusOr<std::shared_ptr<const CheckpointSeal>> CheckpointSeal::FromFile(
    const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (!S_ISREG(info.st_mode) || (info.st_mode & 077) != 0)) {
    return FailedPrecondition("checkpoint_key_file: ", path,
                              " must be a regular file that only its owner can read (mode 0600)");
  }
  absl::StatusOr<std::string> text = ReadFile(path, 4096);
  if (!text.ok()) return Annotate(text.status(), "checkpoint_key_file");
  const absl::string_view digits = absl::StripTrailingAsciiWhitespace(*text);
  const bool hexadecimal =
      std::all_of(digits.begin(), digits.end(), [](char c) { return absl::ascii_isxdigit(c); });
  absl::StatusOr<std::shared_ptr<const CheckpointSeal>> seal =
      InvalidArgument("checkpoint_key_file: ", path, " must hold ", 2 * kKeyBytes,
                      " hexadecimal digits and nothing else");
  if (hexadecimal && digits.size() == 2 * kKeyBytes) {
    std::string key = absl::HexStringToBytes(digits);
    seal = Create(AsBytes(key));
    OPENSSL_cleanse(key.data(), key.size());
  }
  OPENSSL_cleanse(text->data(), text->size());
  return seal;
}

CheckpointSeal::~CheckpointSeal() { OPENSSL_cleanse(key_.data(), key_.size()); }

absl::StatusOr<std::string> CheckpointSeal::Seal(std::string_view plain, BitSource& bits) const {
  std::array<std::byte, kNonceBytes> nonce{};
  BANDANA_RETURN_IF_ERROR(bits.Fill(nonce));
  std::string file;
  ByteWriter out(file);
  out.Fixed(AsBytes(kMagic));
  out.U32(kVersion);
  out.Fixed(key_id_);
  out.Fixed(nonce);
  const std::string header = file;
  const Cipher cipher = Begin(key_, header, /*encrypt=*/true);
  int n = 0;
  std::array<std::byte, kTagBytes> tag{};
  if (cipher == nullptr || !Update(cipher.get(), plain, file) ||
      EVP_CipherFinal_ex(cipher.get(), reinterpret_cast<unsigned char*>(tag.data()), &n) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag.data()) != 1) {
    return CipherFailed();
  }
  out.Fixed(tag);
  out.Fixed(Sha256Of(file));
  return file;
}

absl::StatusOr<std::string> CheckpointSeal::Open(std::string_view file) const {
  if (file.size() < kHeaderBytes + kTrailerBytes) return DataLoss("sealed checkpoint: truncated");
  const std::string_view body = file.substr(0, file.size() - sizeof(Sha256Digest));
  if (AsChars(Sha256Of(body)) != file.substr(body.size())) {
    return DataLoss("sealed checkpoint: checksum mismatch");
  }
  ByteReader in(body);
  const bool known = in.Take(kMagic.size()) == kMagic;
  const std::uint32_t version = in.U32();
  if (!known || version != kVersion) {
    return DataLoss("sealed checkpoint: unknown version ", version);
  }
  std::array<std::byte, 16> key_id{};
  in.Fixed(key_id);
  if (key_id != key_id_) {
    return FailedPrecondition("sealed with another key than the one of checkpoint_key_file: key ",
                              ToHex(key_id), ", given ", ToHex(key_id_));
  }
  const std::string_view header = body.substr(0, kHeaderBytes);
  const std::string_view content =
      body.substr(kHeaderBytes, body.size() - kHeaderBytes - kTagBytes);
  std::string tag(body.substr(body.size() - kTagBytes));
  const Cipher cipher = Begin(key_, header, /*encrypt=*/false);
  std::string plain;
  int n = 0;
  std::array<unsigned char, kTagBytes> rest{};
  if (cipher == nullptr || !Update(cipher.get(), content, plain) ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) != 1 ||
      EVP_CipherFinal_ex(cipher.get(), rest.data(), &n) != 1) {
    OPENSSL_cleanse(plain.data(), plain.size());
    return DataLoss("sealed checkpoint: its seal does not match its content");
  }
  return plain;
}

absl::StatusOr<std::string> Unseal(const CheckpointSeal* seal, std::string file) {
  if (!std::string_view(file).starts_with(kMagic)) return file;
  if (seal == nullptr) {
    return FailedPrecondition("sealed: the configuration's checkpoint_key_file is missing");
  }
  return seal->Open(file);
}

}  // namespace bandana::server
