// The continuous samplers: accuracy of the logarithm, fixed bits, failing sources.
#include "common/random/real_samplers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/random/keyed_stream.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

// Repeats one word again and again.
class ConstantBits final : public BitSource {
 public:
  explicit ConstantBits(std::byte byte) : byte_(byte) {}
  absl::Status Fill(std::span<std::byte> out) override {
    for (std::byte& b : out) b = byte_;
    return absl::OkStatus();
  }

 private:
  std::byte byte_;
};

TEST(PortableLogTest, IsTheLogarithm) {
  TestRng rng(601);
  for (int i = 0; i < 200'000; ++i) {
    // Exponents of every size, and many numbers near 1.
    const int exponent = i % 3 == 0 ? rng.Index(2000) - 1000 : rng.Index(3) - 2;
    const double x = std::ldexp(1 + rng.Uniform() * std::ldexp(1.0, -rng.Index(50)), exponent);
    const long double exact = std::log(static_cast<long double>(x));
    ASSERT_LE(std::abs(PortableLog(x) - exact), std::abs(exact) * 0x1p-51L) << x;
  }
  EXPECT_EQ(PortableLog(1), 0);
}

// The first value agrees with 60 digits of arithmetic beside an independent ChaCha20 to 2^-52. Any
// machine must give these bits, or device and server disagree on a direction.
TEST(RealSamplerTest, APublicSeedGivesTheseBits) {
  KeyedStream::PublicSeed seed{};
  for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = std::byte(i);
  KeyedStream stream = *KeyedStream::FromPublicSeed(seed);
  RealSampler sampler(stream);
  std::vector<double> normals(1001);
  ASSERT_TRUE(sampler.FillNormal(normals).ok());
  std::uint64_t digest = 0;
  for (const double value : normals) {
    digest = digest * 0x9e3779b97f4a7c15u + std::bit_cast<std::uint64_t>(value);
  }
  EXPECT_EQ(normals.front(), 0x1.107985d8b84eep+1);
  EXPECT_EQ(digest, 4478359072965462030u);
}

TEST(RealSamplerTest, DrawsDoNotDependOnHowManyAreAskedFor) {
  SeededBits one(602), other(602);
  RealSampler a(one), b(other);
  std::vector<double> whole(100), part(50);
  ASSERT_TRUE(a.FillNormal(whole).ok());
  for (int half = 0; half < 2; ++half) {
    ASSERT_TRUE(b.FillNormal(part).ok());
    for (int i = 0; i < 50; ++i) EXPECT_EQ(part[i], whole[half * 50 + i]);
  }
}

TEST(RealSamplerTest, FailsClosed) {
  FailingBits failing(0);
  RealSampler sampler(failing);
  std::vector<double> out(3);
  EXPECT_THAT(sampler.FillNormal(out), StatusIs(absl::StatusCode::kUnavailable, ""));
  EXPECT_THAT(sampler.Exponential(), StatusIs(absl::StatusCode::kUnavailable, ""));
  EXPECT_THAT(sampler.Gamma(2), StatusIs(absl::StatusCode::kUnavailable, ""));
}

TEST(RealSamplerTest, AStuckSourceEndsInAnError) {
  ConstantBits zeros{std::byte{0}}, corner{std::byte{0x80}};
  for (ConstantBits* bits : {&zeros, &corner}) {
    RealSampler sampler(*bits);
    EXPECT_THAT(sampler.Normal(), StatusIs(absl::StatusCode::kUnavailable, "entropy"));
    EXPECT_THAT(sampler.Gamma(2), StatusIs(absl::StatusCode::kUnavailable, "entropy"));
  }
}

TEST(RealSamplerTest, ExtremeBitsGiveFiniteDraws) {
  for (const std::byte byte : {std::byte{0}, std::byte{0xff}, std::byte{0x01}, std::byte{0xfe}}) {
    ConstantBits bits(byte);
    RealSampler sampler(bits);
    const double exponential = *sampler.Exponential();
    EXPECT_GT(exponential, 0);
    EXPECT_LT(exponential, 90);
    EXPECT_LT(std::abs(*sampler.Laplace()), 90);
    const double uniform = *sampler.Uniform();
    EXPECT_TRUE(uniform > 0 && uniform < 1);
  }
}

}  // namespace
}  // namespace bandana::testing
