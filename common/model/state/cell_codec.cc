#include "common/model/state/cell_codec.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::uint8_t kPlain = 1;
constexpr std::uint8_t kSealed = 2;
constexpr std::size_t kPlainBytes = 16;
constexpr std::size_t kSealedBytes = kAeadNonceBytes + kPlainBytes + kAeadTagBytes;
static_assert(1 + kSealedBytes <= kCellBytes);

using Plain = std::array<std::byte, kPlainBytes>;

Plain PlainOf(const WindowValue& value) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U8(value.reported ? 1 : 0);
  out.F64(value.reward);
  Plain plain{};
  const auto view = AsBytes(bytes);
  std::copy(view.begin(), view.end(), plain.begin());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return plain;
}

absl::Status Damaged() {
  return DataLoss("a cell of an open decision is damaged, or of another decision or model");
}

absl::StatusOr<WindowValue> ValueOf(const Plain& plain) {
  ByteReader in(AsChars(plain));
  const std::uint8_t reported = in.U8();
  const WindowValue value{.reported = reported == 1, .reward = in.F64()};
  if (reported > 1 || !std::isfinite(value.reward) || PlainOf(value) != plain) return Damaged();
  return value;
}

}  // namespace

CellCodec::CellCodec(const InstanceId& instance, const std::optional<CellKey>& key, BitSource& bits)
    : instance_(instance), bits_(bits) {
  if (key) key_.emplace(*key);
}

std::string CellCodec::Associated(const EntryId& decision) const {
  return std::string(AsChars(instance_)).append(AsChars(decision));
}

absl::StatusOr<CellContent> CellCodec::Encode(const EntryId& decision,
                                              const WindowValue& value) const {
  CellContent content{};
  Plain plain = PlainOf(value);
  const std::span<std::byte> used = std::span(content).subspan(1);
  if (!key_) {
    content[0] = std::byte{kPlain};
    std::copy(plain.begin(), plain.end(), used.begin());
    return content;
  }
  content[0] = std::byte{kSealed};
  const auto nonce = used.first<kAeadNonceBytes>();
  const auto body = used.subspan<kAeadNonceBytes, kPlainBytes>();
  const absl::Status drawn = bits_.Fill(nonce);
  std::copy(plain.begin(), plain.end(), body.begin());
  OPENSSL_cleanse(plain.data(), plain.size());
  std::optional<AeadSealer> sealer = AeadSealer::Create(*key_);
  if (drawn.ok() && sealer &&
      sealer->Seal(nonce, Associated(decision), body,
                   used.subspan<kAeadNonceBytes + kPlainBytes, kAeadTagBytes>())) {
    return content;
  }
  OPENSSL_cleanse(content.data(), content.size());
  return drawn.ok() ? Unavailable("a decision's cell: the cipher failed") : drawn;
}

absl::StatusOr<WindowValue> CellCodec::Decode(const EntryId& decision,
                                              const CellContent& content) const {
  const std::span<const std::byte> used =
      std::span(content).subspan(1, key_ ? kSealedBytes : kPlainBytes);
  const bool rest_is_zero = std::all_of(content.begin() + 1 + used.size(), content.end(),
                                        [](std::byte b) { return b == std::byte{0}; });
  if (content[0] != std::byte{key_ ? kSealed : kPlain} || !rest_is_zero) return Damaged();
  Plain plain{};
  if (!key_) {
    std::copy(used.begin(), used.end(), plain.begin());
    return ValueOf(plain);
  }
  const auto body = used.subspan<kAeadNonceBytes, kPlainBytes>();
  std::copy(body.begin(), body.end(), plain.begin());
  std::optional<AeadOpener> opener = AeadOpener::Create(*key_);
  if (!opener || !opener->Open(used.first<kAeadNonceBytes>(), Associated(decision), plain,
                               used.last<kAeadTagBytes>())) {
    return Damaged();
  }
  absl::StatusOr<WindowValue> value = ValueOf(plain);
  OPENSSL_cleanse(plain.data(), plain.size());
  return value;
}

}  // namespace bandana
