// ChaCha20 without a library against OpenSSL's.
#include "client/core/stand_in/plain_chacha20.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <span>
#include <string>

#include "common/base/sha256.h"
#include "common/random/keyed_stream.h"

namespace bandana::device {
namespace {

TEST(PlainChaCha20Test, StreamsOfPublicSeedsAreThoseOfOpenSsl) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 100; ++run) {
    KeyedStream::PublicSeed seed;
    for (std::byte& byte : seed) byte = static_cast<std::byte>(random());
    auto stream = KeyedStream::FromPublicSeed(seed);
    ASSERT_TRUE(stream.ok());
    PlainChaCha20 plain(Sha256Of("bandana seed 1" + std::string(AsChars(seed))));
    for (int block = 0; block < 40; ++block) {
      std::array<std::byte, PlainChaCha20::kBlockBytes> expected;
      ASSERT_TRUE(stream->Fill(expected).ok());
      ASSERT_EQ(plain.Next(), expected);
    }
  }
}

}  // namespace
}  // namespace bandana::device
