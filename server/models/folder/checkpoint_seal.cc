#include "server/models/folder/checkpoint_seal.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/hmac.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace bandana::server {
namespace {

constexpr std::string_view kSealMagic = "BANDSEAL";
constexpr std::uint32_t kSealVersion = 1;
constexpr std::size_t kHeaderBytes = kSealMagic.size() + sizeof kSealVersion + 16 + kAeadNonceBytes;
constexpr std::size_t kTrailerBytes = kAeadTagBytes + sizeof(Sha256Digest);

absl::Status CipherFailed() { return Unavailable("checkpoint: the cipher failed"); }

// The nonce ends the header.
std::span<const std::byte, kAeadNonceBytes> NonceOf(std::string_view header) {
  return AsBytes(header).last<kAeadNonceBytes>();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CheckpointSeal>> CheckpointSeal::Create(
    std::span<const std::byte> key) {
  if (key.size() != kKeyBytes) {
    return InvalidArgument("a checkpoint key must have ", kKeyBytes, " bytes, got ", key.size());
  }
  std::optional<AeadKey> derived = AeadKey::Derive(key, "bandana checkpoint seal 1");
  Sha256Digest digest{};
  if (!derived || !HmacSha256(key, "bandana checkpoint key 1", digest)) return CipherFailed();
  KeyId key_id{};
  std::copy_n(digest.begin(), key_id.size(), key_id.begin());
  return std::shared_ptr<const CheckpointSeal>(new CheckpointSeal(*std::move(derived), key_id));
}

absl::StatusOr<std::shared_ptr<const CheckpointSeal>> CheckpointSeal::FromFile(
    const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (!S_ISREG(info.st_mode) || (info.st_mode & 077) != 0)) {
    return FailedPrecondition("checkpoint_key_file: ", path,
                              " must be a regular file that only its owner can read (mode 0600)");
  }
  absl::StatusOr<std::string> text = ReadTextFile(path, 4096);
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

absl::Status CheckpointSeal::Seal(const ByteSource& plain, BitSource& bits,
                                  const ByteSink& file) const {
  std::array<std::byte, kAeadNonceBytes> nonce{};
  BANDANA_RETURN_IF_ERROR(bits.Fill(nonce));
  std::string header;
  ByteWriter out(header);
  out.Fixed(AsBytes(kSealMagic));
  out.U32(kSealVersion);
  out.Fixed(key_id_);
  out.Fixed(nonce);
  Sha256 digest;
  const auto pass = [&](std::string_view bytes) {
    digest.Update(bytes);
    return file(bytes);
  };
  BANDANA_RETURN_IF_ERROR(pass(header));
  std::optional<AeadSealer> sealer = AeadSealer::Create(key_);
  if (!sealer || !sealer->Begin(nonce, header)) return CipherFailed();
  std::string piece;
  BANDANA_RETURN_IF_ERROR(plain([&](std::string_view bytes) -> absl::Status {
    piece = bytes;
    if (!sealer->Piece(AsWritableBytes(piece))) return CipherFailed();
    return pass(piece);
  }));
  std::array<std::byte, kAeadTagBytes> tag{};
  if (!sealer->End(tag)) return CipherFailed();
  BANDANA_RETURN_IF_ERROR(pass(AsChars(tag)));
  return file(AsChars(digest.Finish()));
}

absl::StatusOr<std::string> CheckpointSeal::Open(std::string_view file) const {
  if (file.size() < kHeaderBytes + kTrailerBytes) return DataLoss("sealed checkpoint: truncated");
  const std::string_view body = file.substr(0, file.size() - sizeof(Sha256Digest));
  if (AsChars(Sha256Of(body)) != file.substr(body.size())) {
    return DataLoss("sealed checkpoint: checksum mismatch");
  }
  ByteReader in(body);
  const bool known = in.Take(kSealMagic.size()) == kSealMagic;
  const std::uint32_t version = in.U32();
  if (!known || version != kSealVersion) {
    return DataLoss("sealed checkpoint: unknown version ", version);
  }
  KeyId key_id{};
  in.Fixed(key_id);
  if (key_id != key_id_) {
    return FailedPrecondition("sealed with another key than the one of checkpoint_key_file: key ",
                              ToHex(key_id), ", given ", ToHex(key_id_));
  }
  const std::string_view header = body.substr(0, kHeaderBytes);
  std::string plain(body.substr(kHeaderBytes, body.size() - kHeaderBytes - kAeadTagBytes));
  std::optional<AeadOpener> opener = AeadOpener::Create(key_);
  if (!opener) return CipherFailed();
  if (!opener->Open(NonceOf(header), header, AsWritableBytes(plain),
                    AsBytes(body).last<kAeadTagBytes>())) {
    return DataLoss("sealed checkpoint: its seal does not match its content");
  }
  return plain;
}

absl::StatusOr<std::string> Unseal(const CheckpointSeal* seal, std::string file) {
  if (!std::string_view(file).starts_with(kSealMagic)) return file;
  if (seal == nullptr) {
    return FailedPrecondition("sealed: the configuration's checkpoint_key_file is missing");
  }
  return seal->Open(file);
}

}  // namespace bandana::server
