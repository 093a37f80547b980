// Known answers: FIPS 180-4 examples (NIST, "SHA Examples: SHA-256") and the million letters `a` of
// FIPS 180-2 appendix B.
#include "common/base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace bandana {
namespace {

struct Known {
  std::string text;
  const char* digest;
};

TEST(Sha256, KnownAnswers) {
  const Known known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const Known& k : known) EXPECT_EQ(ToHex(Sha256Of(k.text)), k.digest);
}

TEST(Sha256, PartsHashLikeTheWhole) {
  const std::string text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    hash.Update(text.substr(0, cut)).Update(AsBytes(std::string_view(text).substr(cut)));
    EXPECT_EQ(hash.Finish(), Sha256Of(text));
  }
}

TEST(Sha256, StartsAnewAfterFinish) {
  Sha256 hash;
  hash.Update("something else").Finish();
  EXPECT_EQ(hash.Update("abc").Finish(), Sha256Of("abc"));
  EXPECT_EQ(hash.Finish(), Sha256Of(""));
}

TEST(Sha256, HexHasTwoLowerCaseDigitsAByte) {
  EXPECT_EQ(ToHex(AsBytes(std::string_view("\x00\x0f\xa0\xff", 4))), "000fa0ff");
  EXPECT_EQ(ToHex({}), "");
  EXPECT_EQ(AsChars(AsBytes("xyz")), "xyz");
}

}  // namespace
}  // namespace bandana
