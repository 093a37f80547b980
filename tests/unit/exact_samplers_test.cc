// The exact samplers by enumeration of every bit string, and their bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>

#include "common/random/discrete_gaussian.h"
#include "common/random/samplers.h"
#include "tests/support/enumerate.h"
#include "tests/support/failing_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr int kDepth = 24;

double Undecided(const Enumeration& law) {
  return std::ldexp(static_cast<double>(law.undecided), -law.depth_bits);
}

Enumeration LawOfExp(const ExactRatio& x) {
  return EnumerateBits(kDepth, [x](BitSource& bits) -> absl::StatusOr<std::int64_t> {
    const absl::StatusOr<bool> draw = BernoulliExp(x, bits);
    if (!draw.ok()) return draw.status();
    return *draw;
  });
}

// Every outcome of `law` has the probability that `probability` gives it; so have the outcomes near
// zero that did not turn up.
void ExpectLaw(const Enumeration& law, const std::function<double(std::int64_t)>& probability) {
  for (std::int64_t z = -40; z <= 40; ++z) {
    EXPECT_TRUE(Allows(law, z, probability(z))) << z;
  }
  std::uint64_t sum = law.undecided;
  for (const auto& [outcome, mass] : law.masses) {
    EXPECT_TRUE(Allows(law, outcome, probability(outcome))) << outcome;
    sum += mass;
  }
  EXPECT_EQ(sum, std::uint64_t{1} << law.depth_bits);
}

double GaussianMass(std::int64_t z, double sigma_squared) {
  double total = 0;
  for (int i = -200; i <= 200; ++i) total += std::exp(-i * i / (2 * sigma_squared));
  return std::exp(-static_cast<double>(z * z) / (2 * sigma_squared)) / total;
}

double LaplaceMass(std::int64_t z, double scale) {
  return std::tanh(0.5 / scale) * std::exp(-std::abs(static_cast<double>(z)) / scale);
}

TEST(BernoulliExpTest, MassesAreThoseOfTheExponential) {
  const ExactRatio cases[] = {
      {.numerator = 1},                            // 1
      {.numerator = 3},                            // 3
      {.numerator = 1, .factor = 3},               // 1/3
      {.numerator = 2, .factor = 3},               // 2/3
      {.numerator = 7, .factor = 5},               // 7/5
      {.numerator = 3, .factor = 1, .shift = 2},   // 3/4
      {.numerator = 5, .factor = 3, .shift = 2},   // 5/12
      {.numerator = 31, .factor = 3, .shift = 3},  // 31/24
  };
  for (const ExactRatio& x : cases) {
    const double value = static_cast<double>(x.numerator) / static_cast<double>(x.denominator());
    SCOPED_TRACE(value);
    const Enumeration law = LawOfExp(x);
    EXPECT_TRUE(Allows(law, 1, std::exp(-value)));
    EXPECT_TRUE(Allows(law, 0, 1 - std::exp(-value)));
    EXPECT_LT(Undecided(law), 0.015);
  }
}

TEST(BernoulliExpTest, ZeroNeedsNoBits) {
  FailingBits dry(0);
  EXPECT_TRUE(*BernoulliExp({.numerator = 0, .factor = 7, .shift = 3}, dry));
}

TEST(GeometricTest, MassesFallByTheScale) {
  for (const ExactScale scale : {ExactScale{1, 1}, {2, 1}, {3, 2}, {2, 3}}) {
    const double s = static_cast<double>(scale.numerator) / static_cast<double>(scale.denominator);
    SCOPED_TRACE(s);
    const Enumeration law =
        EnumerateBits(kDepth, [scale](BitSource& bits) { return Geometric(scale, bits); });
    ExpectLaw(law, [s](std::int64_t v) {
      return v < 0 ? 0 : -std::expm1(-1 / s) * std::exp(-static_cast<double>(v) / s);
    });
    EXPECT_LT(Undecided(law), 0.11);
  }
}

TEST(DiscreteLaplaceTest, MassesFallByTheScale) {
  for (const ExactScale scale : {ExactScale{1, 1}, {2, 1}, {3, 2}, {1, 2}}) {
    const double s = static_cast<double>(scale.numerator) / static_cast<double>(scale.denominator);
    SCOPED_TRACE(s);
    const Enumeration law =
        EnumerateBits(kDepth, [scale](BitSource& bits) { return DiscreteLaplace(scale, bits); });
    ExpectLaw(law, [s](std::int64_t z) { return LaplaceMass(z, s); });
    EXPECT_LT(Undecided(law), 0.24);
    for (const auto& [z, mass] : law.masses) EXPECT_EQ(mass, law.masses.at(-z));
  }
}

TEST(DiscreteGaussianTest, MassesAreThoseOfTheGaussian) {
  for (const std::uint64_t sigma_squared : {1, 2, 3}) {
    SCOPED_TRACE(sigma_squared);
    const DiscreteGaussian gaussian = *DiscreteGaussian::Create(sigma_squared);
    const Enumeration law =
        EnumerateBits(kDepth, [&](BitSource& bits) { return gaussian.Sample(bits); });
    ExpectLaw(law,
              [=](std::int64_t z) { return GaussianMass(z, static_cast<double>(sigma_squared)); });
    for (const auto& [z, mass] : law.masses) EXPECT_EQ(mass, law.masses.at(-z));
    EXPECT_LT(Undecided(law), 0.35);
  }
}

// That check has the power to see a wrong sampler: both signs of zero kept.
TEST(DiscreteLaplaceTest, EnumerationRejectsTheLawThatKeepsMinusZero) {
  const ExactScale scale;
  const Enumeration mutant =
      EnumerateBits(kDepth, [scale](BitSource& bits) -> absl::StatusOr<std::int64_t> {
        const absl::StatusOr<std::uint64_t> negative = bits.NextBits(1);
        if (!negative.ok()) return negative.status();
        const absl::StatusOr<std::int64_t> magnitude = Geometric(scale, bits);
        if (!magnitude.ok()) return magnitude.status();
        return *negative == 1 ? -*magnitude : *magnitude;
      });
  EXPECT_FALSE(Allows(mutant, 0, LaplaceMass(0, 1)));
  EXPECT_FALSE(Allows(mutant, 1, LaplaceMass(1, 1)));
}

TEST(DiscreteGaussianTest, RefusesWhat128BitsCannotHold) {
  for (const std::uint64_t bad :
       {std::uint64_t{0}, DiscreteGaussian::kSigmaSquaredMax + 1, ~std::uint64_t{0}}) {
    EXPECT_THAT(DiscreteGaussian::Create(bad),
                StatusIs(absl::StatusCode::kInvalidArgument, "sigma_squared"));
  }
  EXPECT_EQ(DiscreteGaussian::Create(DiscreteGaussian::kSigmaSquaredMax)->log2_scale(), 26);
}

TEST(DiscreteGaussianTest, TheScaleIsThePowerOfTwoNearestToSigma) {
  for (std::uint64_t s = 1; s < 3000; ++s) {
    const int k = DiscreteGaussian::Create(s)->log2_scale();
    EXPECT_GE(2 * s, std::uint64_t{1} << (2 * k)) << s;
    EXPECT_LT(s, std::uint64_t{2} << (2 * k)) << s;
  }
}

// At the largest sigma the farthest magnitude must not overflow. The value by hand, k = 26:
// magnitude 2^k = 2^64 - 2^26, sigma^2 = 2^53 - 1, and the square of their difference.
TEST(DiscreteGaussianTest, RejectionIsExactAtTheFarEnd) {
  const DiscreteGaussian gaussian = *DiscreteGaussian::Create(DiscreteGaussian::kSigmaSquaredMax);
  const ExactRatio x = gaussian.Rejection((std::int64_t{1} << 38) - 1);
  const unsigned __int128 distance = (static_cast<unsigned __int128>(1) << 64) -
                                     (std::uint64_t{1} << 26) - ((std::uint64_t{1} << 53) - 1);
  EXPECT_TRUE(x.numerator == distance * distance);
  EXPECT_TRUE(x.numerator / distance == distance);
  EXPECT_EQ(x.factor, DiscreteGaussian::kSigmaSquaredMax);
  EXPECT_EQ(x.shift, 53);
  const long double sigma_squared = DiscreteGaussian::kSigmaSquaredMax;
  const long double gap = 0x1p38L - 1 - sigma_squared / 0x1p26L;
  EXPECT_NEAR(static_cast<double>(static_cast<long double>(x.numerator) /
                                  static_cast<long double>(x.denominator()) /
                                  (gap * gap / (2 * sigma_squared))),
              1.0, 1e-15);
}

TEST(SamplersTest, FailClosedOnDryAndStuckSources) {
  const DiscreteGaussian gaussian = *DiscreteGaussian::Create(1 << 20);
  for (std::size_t bytes = 0; bytes < 24; ++bytes) {  // no draw takes fewer than four words
    FailingBits dry(bytes);
    EXPECT_THAT(gaussian.Sample(dry), StatusIs(absl::StatusCode::kUnavailable, "entropy"));
  }
  // Repeats one word for ever: each sampler ends, with a value or with the error, never in a loop.
  class ConstantBits final : public BitSource {
   public:
    explicit ConstantBits(unsigned char byte) : byte_(byte) {}
    absl::Status Fill(std::span<std::byte> out) override {
      for (std::byte& byte : out) byte = std::byte{0};
      if (!out.empty()) out[0] = std::byte{byte_};
      return absl::OkStatus();
    }

   private:
    unsigned char byte_;
  };
  int stuck = 0;
  for (int byte = 0; byte < 256; ++byte) {
    ConstantBits bits(static_cast<unsigned char>(byte));
    const absl::StatusOr<std::int64_t> draw = gaussian.Sample(bits);
    if (draw.ok()) continue;
    EXPECT_THAT(draw, StatusIs(absl::StatusCode::kUnavailable, "stuck"));
    ++stuck;
  }
  EXPECT_GT(stuck, 0);
}

}  // namespace
}  // namespace bandana::testing
