// SHA-256 without a library against OpenSSL's.
#include "client/core/stand_in/plain_sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "common/base/sha256.h"

namespace bandana::device {
namespace {

std::string Plain(std::string_view bytes) {
  const auto digest = PlainSha256().Update(bytes).Finish();
  return {digest.data(), digest.size()};
}

TEST(PlainSha256Test, PublishedDigests) {
  EXPECT_EQ(ToHex(AsBytes(Plain(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(AsBytes(Plain("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(PlainSha256Test, AgreesWithOpenSslHoweverTheBytesCome) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes(random() % 400, '\0');
    std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<char>(random()); });
    PlainSha256 hash;
    for (std::string_view left = bytes; !left.empty();) {
      const std::size_t part = std::min<std::size_t>(random() % 130, left.size());
      hash.Update(left.substr(0, part));
      left.remove_prefix(part);
    }
    const Sha256Digest expected = Sha256Of(bytes);
    for (int again = 0; again < 2; ++again) {  // the object starts anew
      const auto digest = hash.Finish();
      EXPECT_EQ(std::string_view(digest.data(), digest.size()), AsChars(expected)) << bytes.size();
      hash.Update(bytes);
    }
  }
}

}  // namespace
}  // namespace bandana::device
