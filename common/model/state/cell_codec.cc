#include "common/model/state/cell_codec.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <memory>
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
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
static_assert(1 + kNonceBytes + kPlainBytes + kTagBytes <= kCellBytes);

using Plain = std::array<std::byte, kPlainBytes>;

struct CipherDeleter {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }  // erases
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherDeleter>;

const unsigned char* Chars(const std::byte* p) { return reinterpret_cast<const unsigned char*>(p); }
unsigned char* Chars(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }

// With the nonce set and `associated` authenticated; nullptr when the library fails.
Cipher Begin(const CellKey& key, const std::byte* nonce, std::string_view associated,
             bool encrypt) {
  Cipher cipher(EVP_CIPHER_CTX_new());
  int n = 0;
  if (cipher == nullptr ||
      EVP_CipherInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, Chars(key.data()), Chars(nonce),
                        encrypt ? 1 : 0) != 1 ||
      EVP_CipherUpdate(cipher.get(), nullptr, &n, Chars(AsBytes(associated).data()),
                       static_cast<int>(associated.size())) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  return cipher;
}

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
    : instance_(instance), key_(key), bits_(bits) {}

CellCodec::~CellCodec() {
  if (key_) OPENSSL_cleanse(key_->data(), key_->size());
}

std::string CellCodec::Associated(const EntryId& decision) const {
  return std::string(AsChars(instance_)).append(AsChars(decision));
}

absl::StatusOr<CellContent> CellCodec::Encode(const EntryId& decision,
                                              const WindowValue& value) const {
  CellContent content{};
  Plain plain = PlainOf(value);
  std::byte* const body = content.data() + 1;
  if (!key_) {
    content[0] = std::byte{kPlain};
    std::copy(plain.begin(), plain.end(), body);
    return content;
  }
  content[0] = std::byte{kSealed};
  BANDANA_RETURN_IF_ERROR(bits_.Fill({body, kNonceBytes}));
  const Cipher cipher = Begin(*key_, body, Associated(decision), /*encrypt=*/true);
  std::byte* const sealed = body + kNonceBytes;
  int n = 0;
  const bool made =
      cipher != nullptr &&
      EVP_CipherUpdate(cipher.get(), Chars(sealed), &n, Chars(plain.data()), kPlainBytes) == 1 &&
      EVP_CipherFinal_ex(cipher.get(), Chars(sealed + kPlainBytes), &n) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, sealed + kPlainBytes) ==
          1;
  OPENSSL_cleanse(plain.data(), plain.size());
  if (made) return content;
  ERR_clear_error();
  return Unavailable("a decision's cell: the cipher failed");
}

absl::StatusOr<WindowValue> CellCodec::Decode(const EntryId& decision,
                                              const CellContent& content) const {
  const std::byte* const body = content.data() + 1;
  Plain plain{};
  const std::size_t used = 1 + (key_ ? kNonceBytes + kPlainBytes + kTagBytes : kPlainBytes);
  const bool rest_is_zero = std::all_of(content.begin() + used, content.end(),
                                        [](std::byte b) { return b == std::byte{0}; });
  if (content[0] != std::byte{key_ ? kSealed : kPlain} || !rest_is_zero) return Damaged();
  if (!key_) {
    std::copy(body, body + kPlainBytes, plain.begin());
    return ValueOf(plain);
  }
  const Cipher cipher = Begin(*key_, body, Associated(decision), /*encrypt=*/false);
  const std::byte* const sealed = body + kNonceBytes;
  std::array<std::byte, kTagBytes> tag{};
  std::copy(sealed + kPlainBytes, sealed + kPlainBytes + kTagBytes, tag.begin());
  int n = 0;
  std::array<unsigned char, kTagBytes> rest{};
  const bool opened =
      cipher != nullptr &&
      EVP_CipherUpdate(cipher.get(), Chars(plain.data()), &n, Chars(sealed), kPlainBytes) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_CipherFinal_ex(cipher.get(), rest.data(), &n) == 1;
  const absl::StatusOr<WindowValue> value =
      opened ? ValueOf(plain) : absl::StatusOr<WindowValue>(Damaged());
  OPENSSL_cleanse(plain.data(), plain.size());
  ERR_clear_error();
  return value;
}

}  // namespace bandana
