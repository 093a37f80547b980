#include "server/service/decisions/answer_rows.h"

#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "common/base/aead.h"
#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

absl::Status CipherFailed() { return Unavailable("named decisions: OpenSSL failed"); }

// The data that a seal is bound to beside its key.
std::string BoundTo(std::int64_t number) {
  std::string bytes = "named answer 2";
  ByteWriter(bytes).I64(number);
  return bytes;
}

// Reads the part that both formats have.
void ReadAnswer(ByteReader& in, NamedAnswer& answer) {
  in.Fixed(answer.content);
  answer.until = absl::FromUnixMicros(in.I64());
  answer.maker = std::string(in.Block());
  in.Fixed(answer.instance);
  in.Fixed(answer.user);
  answer.answer = std::string(in.Block());
}

}  // namespace

absl::StatusOr<SealedRow> SealRow(const AnswerKeys& keys, std::int64_t number,
                                  const Sha256Digest& name, const NamedAnswer& answer) {
  const AnswerKeys::SealKey key = keys.Present();
  if (key.key == nullptr) return CipherFailed();
  std::array<std::byte, kAeadNonceBytes> nonce{};
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(nonce));
  std::string body;
  ByteWriter out(body);
  out.Fixed(name);
  out.Fixed(answer.caller);
  out.Fixed(answer.content);
  out.I64(absl::ToUnixMicros(answer.until));
  out.Block(answer.maker);
  out.Fixed(answer.instance);
  out.Fixed(answer.user);
  out.Block(answer.answer);
  std::array<std::byte, kAeadTagBytes> tag{};
  std::optional<AeadSealer> sealer = AeadSealer::Create(*key.key);
  if (!sealer || !sealer->Seal(nonce, BoundTo(number), AsWritableBytes(body), tag)) {
    return CipherFailed();
  }
  SealedRow row{.number = number, .key = key.id, .bytes = std::string(AsChars(nonce))};
  row.bytes.append(body).append(AsChars(tag));
  return row;
}

absl::StatusOr<std::optional<OpenRow>> OpenSealedRow(const AnswerKeys& keys, SealedRow row) {
  const std::shared_ptr<const AeadKey> key = keys.Find(row.key);
  if (key == nullptr) return std::nullopt;
  if (row.bytes.size() < kAeadNonceBytes + kAeadTagBytes) {
    return DataLoss("a named decision is truncated");
  }
  const std::span<std::byte> bytes = AsWritableBytes(row.bytes);
  const std::span<std::byte> body =
      bytes.subspan(kAeadNonceBytes, bytes.size() - kAeadNonceBytes - kAeadTagBytes);
  std::optional<AeadOpener> opener = AeadOpener::Create(*key);
  if (!opener) return CipherFailed();
  if (!opener->Open(bytes.first<kAeadNonceBytes>(), BoundTo(row.number), body,
                    bytes.last<kAeadTagBytes>())) {
    return DataLoss("a named decision does not open: it was changed, or belongs elsewhere");
  }
  OpenRow open;
  ByteReader in(AsChars(body));
  in.Fixed(open.first);
  in.Fixed(open.second.caller);
  ReadAnswer(in, open.second);
  if (!in.Done()) return DataLoss("a named decision has a wrong length");
  return open;
}

absl::StatusOr<OpenRow> ReadFormerRow(std::string_view name, std::string_view bytes) {
  constexpr std::size_t kCheckBytes = 8;
  OpenRow open;
  if (name.size() != open.first.size()) return DataLoss("a named decision has a wrong name");
  std::memcpy(open.first.data(), name.data(), name.size());
  if (bytes.size() < kCheckBytes) return DataLoss("a named decision is truncated");
  const std::string_view body = bytes.substr(0, bytes.size() - kCheckBytes);
  const Sha256Digest check = Sha256Of(std::string(name) + std::string(body));
  if (std::memcmp(check.data(), bytes.data() + body.size(), kCheckBytes) != 0) {
    return DataLoss("a named decision has a wrong checksum");
  }
  ByteReader in(body);
  ReadAnswer(in, open.second);
  if (!in.Done()) return DataLoss("a named decision has a wrong length");
  return open;
}

}  // namespace bandana::server
