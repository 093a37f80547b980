#include "common/random/real_samplers.h"

#include <string.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

using Uint128 = unsigned __int128;

// Words are read from bytes as they lie in memory.
static_assert(std::endian::native == std::endian::little);

// An attempt succeeds with probability at least 0.58: 0.42^256 < 2^-300.
constexpr int kRealAttemptsMax = 256;

// PROOF: privunit begin
// 2 atanh(y) for |y| <= 0.172: the first term left out is below 2^-60 of the sum.
double TwiceAtanh(double y) {
  const double square = y * y;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * y * sum;
}

// -ln(1 - f), 0 < f <= 1/2, where 1 - f would lose what is small.
double MinusLogOneMinus(double f) {
  return f < 0.28 ? TwiceAtanh(f / (2 - f)) : -PortableLog(1 - f);
}
// PROOF: privunit end

}  // namespace

// PROOF: privunit begin
double PortableLog(double x) {
  BANDANA_CHECK(x > 0 && std::isfinite(x));
  int exponent;
  double mantissa = std::frexp(x, &exponent);  // exact, in [1/2, 1)
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  // ln 2 in two parts: exponent times the first is exact.
  constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33;
  const double fraction = TwiceAtanh((mantissa - 1) / (mantissa + 1));
  return exponent * kHigh + (exponent * kLow + fraction);
}
// PROOF: privunit end

RealSampler::~RealSampler() { explicit_bzero(words_.data(), sizeof(words_)); }

absl::Status RealSampler::Refill() {
  BANDANA_RETURN_IF_ERROR(bits_.Fill(std::as_writable_bytes(std::span(words_))));
  next_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<double> RealSampler::Uniform() {
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t word, Word());
  return static_cast<double>((word >> 12) * 2 + 1) * 0x1p-53;
}

// PROOF: privunit begin
absl::StatusOr<double> RealSampler::Exponential() {
  // -ln U, U uniform on (0, 1): U = f or 1 - f, f uniform on (0, 1/2) with 127 bits, so that
  // neither tail is coarse.
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t high, Word());
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t low, Word());
  const Uint128 k = (Uint128{high >> 1} << 64) | low;
  const double f = (static_cast<double>(k) + 0.5) * 0x1p-128;
  return (high & 1) == 0 ? -PortableLog(f) : MinusLogOneMinus(f);
}

absl::StatusOr<RealSampler::Pair> RealSampler::NormalPair() {
  constexpr Uint128 kOuter = Uint128{1} << 126, kInner = kOuter / 4;
  for (int attempt = 0; attempt < kRealAttemptsMax; ++attempt) {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t first, Word());
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t second, Word());
    // A point of the square in units of 2^-63. Those in the ring of radii 1/2 and 1 have a uniform
    // direction, and none is so short that its direction would be coarse.
    const auto a = static_cast<std::int64_t>(first);
    const auto b = static_cast<std::int64_t>(second);
    const Uint128 square =
        static_cast<Uint128>(__int128{a} * a) + static_cast<Uint128>(__int128{b} * b);
    if (square < kInner || square > kOuter) continue;
    BANDANA_ASSIGN_OR_RETURN(const double exponential, Exponential());
    const double scale = std::sqrt(2 * exponential / static_cast<double>(square));
    return Pair{static_cast<double>(a) * scale, static_cast<double>(b) * scale};
  }
  return StuckEntropy();
}

absl::Status RealSampler::FillNormal(std::span<double> out) {
  for (std::size_t i = 0; i < out.size(); i += 2) {
    BANDANA_ASSIGN_OR_RETURN(const Pair pair, NormalPair());
    out[i] = pair.x;
    if (i + 1 < out.size()) out[i + 1] = pair.y;
  }
  return absl::OkStatus();
}
// PROOF: privunit end

absl::StatusOr<double> RealSampler::Normal() {
  if (spare_.has_value()) {
    const double value = *spare_;
    spare_.reset();
    return value;
  }
  BANDANA_ASSIGN_OR_RETURN(const Pair pair, NormalPair());
  spare_ = pair.y;
  return pair.x;
}

absl::StatusOr<double> RealSampler::Laplace() {
  // ln of twice the smaller side of a uniform: its 128 bits are the sign and the 127 of f.
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t high, Word());
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t low, Word());
  const Uint128 k = (Uint128{high >> 1} << 64) | low;
  const double magnitude = -PortableLog((static_cast<double>(k) + 0.5) * 0x1p-127);
  return (high & 1) == 0 ? magnitude : -magnitude;
}

absl::StatusOr<double> RealSampler::Gamma(double shape) {
  BANDANA_CHECK(shape >= 1 && shape <= 0x1p40);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (int attempt = 0; attempt < kRealAttemptsMax; ++attempt) {
    BANDANA_ASSIGN_OR_RETURN(const double x, Normal());
    const double root = 1 + c * x;
    if (!(root > 0)) continue;
    const double v = root * root * root;
    BANDANA_ASSIGN_OR_RETURN(const double u, Uniform());
    if (PortableLog(u) < x * x / 2 + d * (1 - v + PortableLog(v))) return d * v;
  }
  return StuckEntropy();
}

}  // namespace bandana
