#include "common/model/state/cell_codec.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::uint8_t kPlain = 1;
constexpr std::uint8_t kSealed = 2;   // under the model's key
constexpr std::uint8_t kDerived = 3;  // under a derived one, whose number comes first
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

CellCodec::CellCodec(const InstanceId& instance, const std::optional<CellKey>& key, BitSource& bits,
                     std::shared_ptr<const std::atomic<int>> kind_read)
    : instance_(instance), secret_(key), bits_(bits), kind_read_(std::move(kind_read)) {
  static_assert(1 + kChoiceBytes + kSealedBytes == kCellBytes);
  if (key) key_.emplace(*key);
}

bool CellCodec::DerivesKeys() const {
  return kind_read_ == nullptr || kind_read_->load(std::memory_order_relaxed) >= kDerivedRead;
}

std::optional<AeadKey> CellCodec::KeyOf(std::span<const std::byte, kChoiceBytes> choice) const {
  return AeadKey::Derive(*secret_, std::string("cell key ").append(AsChars(choice)));
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
  const bool derives = DerivesKeys();
  content[0] = std::byte{derives ? kDerived : kSealed};
  const auto choice = used.first<kChoiceBytes>();
  const std::span<std::byte> sealed = used.subspan(derives ? kChoiceBytes : 0);
  const auto nonce = sealed.first<kAeadNonceBytes>();
  const auto body = sealed.subspan<kAeadNonceBytes, kPlainBytes>();
  absl::Status drawn = bits_.Fill(nonce);
  if (drawn.ok() && derives) drawn = bits_.Fill(choice);
  std::copy(plain.begin(), plain.end(), body.begin());
  OPENSSL_cleanse(plain.data(), plain.size());
  const std::optional<AeadKey> own = derives ? KeyOf(choice) : std::nullopt;
  const AeadKey* const key = derives ? (own ? &*own : nullptr) : &*key_;
  std::optional<AeadSealer> sealer;
  if (key != nullptr) sealer = AeadSealer::Create(*key);
  if (drawn.ok() && sealer &&
      sealer->Seal(nonce, Associated(decision), body,
                   sealed.subspan<kAeadNonceBytes + kPlainBytes, kAeadTagBytes>())) {
    return content;
  }
  OPENSSL_cleanse(content.data(), content.size());
  return drawn.ok() ? Unavailable("a decision's cell: the cipher failed") : drawn;
}

absl::StatusOr<WindowValue> CellCodec::Decode(const EntryId& decision,
                                              const CellContent& content) const {
  const bool derived = key_ && content[0] == std::byte{kDerived};
  const std::size_t before = derived ? kChoiceBytes : 0;
  const std::span<const std::byte> used =
      std::span(content).subspan(1 + before, key_ ? kSealedBytes : kPlainBytes);
  const bool rest_is_zero = std::all_of(content.begin() + 1 + before + used.size(), content.end(),
                                        [](std::byte b) { return b == std::byte{0}; });
  const bool kind_fits = derived || content[0] == std::byte{key_ ? kSealed : kPlain};
  if (!kind_fits || !rest_is_zero) return Damaged();
  Plain plain{};
  if (!key_) {
    std::copy(used.begin(), used.end(), plain.begin());
    return ValueOf(plain);
  }
  const auto body = used.subspan<kAeadNonceBytes, kPlainBytes>();
  std::copy(body.begin(), body.end(), plain.begin());
  const std::optional<AeadKey> own =
      derived ? KeyOf(std::span(content).subspan<1, kChoiceBytes>()) : std::nullopt;
  if (derived && !own) return Damaged();
  std::optional<AeadOpener> opener = AeadOpener::Create(derived ? *own : *key_);
  if (!opener || !opener->Open(used.first<kAeadNonceBytes>(), Associated(decision), plain,
                               used.last<kAeadTagBytes>())) {
    return Damaged();
  }
  absl::StatusOr<WindowValue> value = ValueOf(plain);
  OPENSSL_cleanse(plain.data(), plain.size());
  return value;
}

}  // namespace bandana
