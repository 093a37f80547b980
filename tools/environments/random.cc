#include "tools/environments/random.h"

#include <algorithm>
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
