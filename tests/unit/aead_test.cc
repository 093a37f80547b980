// Known answers: "The Galois/Counter Mode of Operation (GCM)", McGrew and Viega 2005, appendix B,
// cases 13, 14 and 16; for HMAC-SHA256 RFC 4231, 4.3.
#include "common/base/aead.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/base/hmac.h"
#include "common/base/sha256.h"

namespace bandana {
namespace {

using Bytes = std::vector<std::byte>;

Bytes FromHex(const std::string& hex) {
  const std::string bytes = absl::HexStringToBytes(hex);
  const auto view = AsBytes(bytes);
  return {view.begin(), view.end()};
}
AeadKey KeyOf(const Bytes& bytes) { return AeadKey(std::span(bytes).first<kAeadKeyBytes>()); }
std::span<const std::byte, kAeadNonceBytes> NonceOf(const Bytes& bytes) {
  return std::span(bytes).first<kAeadNonceBytes>();
}

struct Known {
  std::string key, nonce, plain, associated, cipher, tag;
};
const std::string kKey = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
const std::string kNonce = "cafebabefacedbaddecaf888";

std::vector<Known> Cases() {
  const std::string zeros(64, '0');
  return {
      {zeros, zeros.substr(40), "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
      {zeros, zeros.substr(40), zeros.substr(32), "", "cea7403d4d606b6e074ec5d3baf39d18",
       "d0d1c8a799996bf0265b98b5d48ab919"},
      {kKey, kNonce,
       "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
       "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
       "feedfacedeadbeeffeedfacedeadbeefabaddad2",
       "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
       "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
       "76fc6ece0f4e1768cddf8853bb2d551b"},
  };
}

TEST(Aead, KnownAnswers) {
  for (const Known& known : Cases()) {
    const AeadKey key = KeyOf(FromHex(known.key));
    const Bytes nonce = FromHex(known.nonce);
    const Bytes plain = FromHex(known.plain);
    const Bytes associated = FromHex(known.associated);
    Bytes body = plain;
    Bytes tag(kAeadTagBytes);
    auto sealer = AeadSealer::Create(key);
    ASSERT_TRUE(sealer.has_value());
    ASSERT_TRUE(sealer->Seal(NonceOf(nonce), AsChars(associated), body,
                             std::span(tag).first<kAeadTagBytes>()));
    EXPECT_EQ(ToHex(body), known.cipher);
    EXPECT_EQ(ToHex(tag), known.tag);
    auto opener = AeadOpener::Create(key);
    ASSERT_TRUE(opener.has_value());
    ASSERT_TRUE(opener->Open(NonceOf(nonce), AsChars(associated), body,
                             std::span(tag).first<kAeadTagBytes>()));
    EXPECT_EQ(body, plain);
  }
}

// One opener throughout: a refusal leaves it as good as new.
TEST(Aead, AnyChangedBitIsRefusedAndLeavesZeros) {
  const Known known = Cases().back();
  auto opener = AeadOpener::Create(KeyOf(FromHex(known.key)));
  ASSERT_TRUE(opener.has_value());
  const Bytes whole[] = {FromHex(known.nonce), FromHex(known.associated), FromHex(known.cipher),
                         FromHex(known.tag)};
  for (std::size_t part = 0; part < std::size(whole); ++part) {
    for (std::size_t bit = 0; bit < 8 * whole[part].size(); ++bit) {
      Bytes parts[] = {whole[0], whole[1], whole[2], whole[3]};
      parts[part][bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_FALSE(opener->Open(NonceOf(parts[0]), AsChars(parts[1]), parts[2],
                                std::span(parts[3]).first<kAeadTagBytes>()));
      EXPECT_EQ(parts[2], Bytes(parts[2].size()));
    }
  }
  Bytes body = whole[2];
  EXPECT_TRUE(opener->Open(NonceOf(whole[0]), AsChars(whole[1]), body,
                           std::span(whole[3]).first<kAeadTagBytes>()));
}

TEST(Aead, AnotherKeyIsRefused) {
  const Known known = Cases().back();
  Bytes other = FromHex(known.key);
  other[31] ^= std::byte{1};
  auto opener = AeadOpener::Create(KeyOf(other));
  ASSERT_TRUE(opener.has_value());
  Bytes body = FromHex(known.cipher);
  const Bytes tag = FromHex(known.tag);
  EXPECT_FALSE(opener->Open(NonceOf(FromHex(known.nonce)), AsChars(FromHex(known.associated)), body,
                            std::span(tag).first<kAeadTagBytes>()));
}

TEST(Aead, KeysAreDerivedByHmac) {
  Sha256Digest digest{};
  ASSERT_TRUE(HmacSha256(AsBytes("Jefe"), "what do ya want for nothing?", digest));
  EXPECT_EQ(ToHex(digest), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  // The derived key seals as the digest itself does.
  auto derived = AeadKey::Derive(AsBytes("Jefe"), "what do ya want for nothing?");
  ASSERT_TRUE(derived.has_value());
  const Bytes nonce(kAeadNonceBytes);
  Bytes tags[2] = {Bytes(kAeadTagBytes), Bytes(kAeadTagBytes)};
  ASSERT_TRUE(AeadSealer::Create(*derived)->Seal(NonceOf(nonce), "", {},
                                                 std::span(tags[0]).first<kAeadTagBytes>()));
  ASSERT_TRUE(AeadSealer::Create(AeadKey(digest))
                  ->Seal(NonceOf(nonce), "", {}, std::span(tags[1]).first<kAeadTagBytes>()));
  EXPECT_EQ(tags[0], tags[1]);
}

}  // namespace
}  // namespace bandana
