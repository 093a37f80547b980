#include "common/random/keyed_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/failing_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

template <std::size_t kSize>
std::array<std::byte, kSize> Filled(int value) {
  std::array<std::byte, kSize> bytes;
  bytes.fill(static_cast<std::byte>(value));
  return bytes;
}

template <std::size_t kSize>
std::array<std::byte, kSize> Counting() {
  std::array<std::byte, kSize> bytes;
  for (std::size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

NoiseKey Key() { return *NoiseKey::FromBytes(Counting<32>()); }

NoiseAddress Address(const NoiseInput& input = NoiseInput(Filled<32>(7))) {
  return {.instance = Filled<16>(1),
          .epoch = 2,
          .parameters = Filled<32>(3),
          .stream = 4,
          .node = 5,
          .history = Filled<32>(6),
          .input = input};
}

std::string Hex(KeyedStream stream, std::size_t size) {
  std::vector<std::byte> bytes(size);
  EXPECT_THAT(stream.Fill(bytes), IsOk());
  return ToHex(bytes);
}

// From a ChaCha20 and HMAC-SHA256 written for this test in Python without OpenSSL's cipher: key 00
// 01 .. 1f, the address above, with its input and without; the first 32 bytes, and 16 at 1024
// (block counter 16).
TEST(KeyedStreamTest, GivesTheBytesOfTheReference) {
  const std::string noise = Hex(*KeyedStream::ForNode(Key(), Address()), 1040);
  EXPECT_EQ(noise.substr(0, 64),
            "ad1c36600bc92cfd6a0cc624a8b941530a17e134e726e60c7b65ed0271e2441c");
  EXPECT_EQ(noise.substr(2048), "8bca3edefb5f941dec566d47336fbbd0");
  const std::string without = Hex(*KeyedStream::ForNode(Key(), Address(NoiseInput::None())), 1040);
  EXPECT_EQ(without.substr(0, 64),
            "ea67b44c80c1fccf1844b85e97749f21f25257e979b3a1c335cb297682237287");
  EXPECT_EQ(without.substr(2048), "ea3cbb2a6a3bc78381f26a26e0b2f9af");
  EXPECT_EQ(Hex(*KeyedStream::FromPublicSeed(Counting<16>()), 32),
            "86d7b70fd26edc68784b196bc7def824eaf23169c4621528f96b755b34657d53");
}

TEST(KeyedStreamTest, BytesDoNotDependOnHowTheyAreAskedFor) {
  const std::string whole = Hex(*KeyedStream::ForNode(Key(), Address()), 3000);
  KeyedStream stream = *KeyedStream::ForNode(Key(), Address());
  std::string pieces;
  for (std::size_t size = 0; pieces.size() < 2 * 3000; ++size) {
    std::vector<std::byte> bytes(std::min(size, 3000 - pieces.size() / 2));
    ASSERT_THAT(stream.Fill(bytes), IsOk());
    pieces += ToHex(bytes);
  }
  EXPECT_EQ(pieces, whole);
}

TEST(KeyedStreamTest, EveryFieldOfTheAddressAndTheKeyMatter) {
  std::vector<NoiseAddress> addresses(11, Address());
  addresses[1].instance[15] = std::byte{9};
  addresses[2].epoch = 3;
  addresses[3].parameters[0] = std::byte{9};
  addresses[4].stream = 5;
  addresses[5].node = 4;
  addresses[6].history[31] = std::byte{9};
  addresses[7].epoch = std::uint64_t{2} << 56;
  std::swap(addresses[8].stream, addresses[8].node);
  addresses[9] = Address(NoiseInput::None());
  addresses[10] = Address(NoiseInput(Filled<32>(8)));
  std::set<std::string> streams;
  for (const NoiseAddress& address : addresses) {
    streams.insert(Hex(*KeyedStream::ForNode(Key(), address), 16));
  }
  streams.insert(Hex(*KeyedStream::ForNode(*NoiseKey::FromBytes(Filled<32>(7)), Address()), 16));
  EXPECT_EQ(streams.size(), addresses.size() + 1);
}

TEST(NoiseKeyTest, MovesAndNeverCopies) {
  static_assert(!std::is_copy_constructible_v<NoiseKey>);
  static_assert(!std::is_copy_assignable_v<NoiseKey>);
  NoiseKey key = Key();
  const NoiseKey moved = std::move(key);
  EXPECT_EQ(Hex(*KeyedStream::ForNode(moved, Address()), 16),
            Hex(*KeyedStream::ForNode(Key(), Address()), 16));
  // A key that was moved from is erased: 32 zero bytes.
  EXPECT_EQ(Hex(*KeyedStream::ForNode(key, Address()), 16),
            Hex(*KeyedStream::ForNode(*NoiseKey::FromBytes(Filled<32>(0)), Address()), 16));
}

TEST(NoiseKeyTest, RefusesWrongSizesAndDrySources) {
  EXPECT_THAT(NoiseKey::FromBytes(Filled<31>(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, "32 bytes, got 31"));
  EXPECT_THAT(NoiseKey::FromBytes({}), StatusIs(absl::StatusCode::kInvalidArgument, "noise key"));
  FailingBits dry(31);
  EXPECT_THAT(NoiseKey::Generate(dry), StatusIs(absl::StatusCode::kUnavailable, "entropy"));
}

TEST(NoiseKeyTest, TwoGeneratedKeysDiffer) {
  EXPECT_NE(Hex(*KeyedStream::ForNode(*NoiseKey::Generate(SystemBits()), Address()), 16),
            Hex(*KeyedStream::ForNode(*NoiseKey::Generate(SystemBits()), Address()), 16));
}

}  // namespace
}  // namespace bandana::testing
