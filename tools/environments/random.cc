#include "tools/environments/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "common/base/check.h"

namespace bandana {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

// Finalizer of splitmix64.
std::uint64_t Mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t Key(std::uint64_t seed, StreamPurpose purpose, std::uint64_t index) {
  const std::uint64_t with_seed = Mix(seed + kGolden);
  const std::uint64_t with_purpose = Mix(with_seed + static_cast<std::uint64_t>(purpose) * kGolden);
  return Mix(with_purpose ^ Mix(index + kGolden));
}

// Layers of equal area under exp(-x^2 / 2), x >= 0: layer i is x < edge[i], between the heights at
// edge[i] and edge[i + 1]; layer 0 is the base with the tail beyond kTail.
struct Ziggurat {
  static constexpr std::size_t kLayers = 256;
  static constexpr double kTail = 3.6541528853610088;
  static constexpr double kArea = 0.00492867323399;
  std::array<double, kLayers + 1> edge;
  std::array<double, kLayers + 1> height;

  static double Density(double x) { return std::exp(-0.5 * x * x); }
  Ziggurat() {
    edge[0] = kArea / Density(kTail);
    edge[1] = kTail;
    for (std::size_t i = 1; i + 1 < kLayers; ++i)
      edge[i + 1] = std::sqrt(-2 * std::log(kArea / edge[i] + Density(edge[i])));
    edge[kLayers] = 0;
    for (std::size_t i = 0; i <= kLayers; ++i) height[i] = Density(edge[i]);
  }
};
const Ziggurat kZiggurat;

}  // namespace

SeededStream::SeededStream(std::uint64_t seed, StreamPurpose purpose, std::uint64_t index)
    : state_(Key(seed, purpose, index)) {}

std::uint64_t SeededStream::Next() {
  state_ += kGolden;
  return Mix(state_);
}

double SeededStream::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double SeededStream::Normal() {
  if (spare_normal_) {
    const double spare = *spare_normal_;
    spare_normal_.reset();
    return spare;
  }
  const double u =
      (static_cast<double>(Next() >> 11) + 1) * 0x1p-53;  // (0, 1]: its logarithm is finite
  const double radius = std::sqrt(-2 * std::log(u));
  const double angle = 2 * std::numbers::pi * Uniform();
  spare_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

double SeededStream::QuickNormal() {
  for (;;) {
    const std::uint64_t word = Next();
    const std::size_t layer = word % Ziggurat::kLayers;
    const double u = static_cast<double>(static_cast<std::int64_t>(word) >> 11) * 0x1p-52;
    const double x = u * kZiggurat.edge[layer];
    if (std::abs(x) < kZiggurat.edge[layer + 1]) return x;
    if (layer == 0) {
      double beyond, limit;
      do {
        beyond = -std::log1p(-Uniform()) / Ziggurat::kTail;
        limit = -std::log1p(-Uniform());
      } while (2 * limit < beyond * beyond);
      return std::copysign(Ziggurat::kTail + beyond, x);
    }
    const double low = kZiggurat.height[layer];
    const double high = kZiggurat.height[layer + 1];
    if (low + Uniform() * (high - low) < Ziggurat::Density(x)) return x;
  }
}

std::uint64_t SeededStream::Below(std::uint64_t bound) {
  BANDANA_CHECK(bound >= 1);
  const std::uint64_t rejected = (0 - bound) % bound;  // 2^64 mod bound: the incomplete last block
  std::uint64_t draw = Next();
  while (draw < rejected) draw = Next();
  return draw % bound;
}

void SampleDistinct(SeededStream& stream, std::uint32_t bound, std::uint32_t count,
                    std::vector<std::uint32_t>& out) {
  BANDANA_CHECK(count <= bound);
  out.clear();
  for (std::uint32_t top = bound - count; top < bound; ++top) {
    const auto draw = static_cast<std::uint32_t>(stream.Below(std::uint64_t{top} + 1));
    const bool taken = std::find(out.begin(), out.end(), draw) != out.end();
    out.push_back(taken ? top : draw);
  }
  Shuffle(stream, std::span(out));
}

std::uint64_t Permuted(std::uint64_t seed, std::uint64_t round, std::uint64_t size,
                       std::uint64_t position) {
  BANDANA_CHECK(position < size);
  const int half_bits = std::max(1, (static_cast<int>(std::bit_width(size - 1)) + 1) / 2);
  const std::uint64_t half_mask = (std::uint64_t{1} << half_bits) - 1;
  const std::uint64_t key = Key(seed, StreamPurpose::kPermutation, round);
  std::uint64_t value = position;
  do {
    std::uint64_t left = value >> half_bits;
    std::uint64_t right = value & half_mask;
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::uint64_t next = left ^ (Mix(key + i * kGolden + Mix(right + 1)) & half_mask);
      left = right;
      right = next;
    }
    value = (left << half_bits) | right;
  } while (value >= size);
  return value;
}

}  // namespace bandana
