// Seeded randomness of simulations. Nothing here may be near privacy noise: it is predictable by
// design.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bandana {

// Keeps the streams of one seed apart.
enum class StreamPurpose : std::uint64_t {
  kUserParameter = 1,
  kUserMask = 2,
  kArm = 3,
  kArmMask = 4,
  kDecision = 5,
  kReward = 6,
  kArrival = 7,
  kPermutation = 8,
  kNewUser = 9,
  kNewArm = 10,
  kFriend = 11,
};

// A stream that is a pure function of (seed, purpose, index): any part of a simulation can be drawn
// without the parts before it. splitmix64 [Steele, Lea, Flood 2014] from a mixed key. Threads: not
// thread-safe; make one where it is needed.
class SeededStream {
 public:
  SeededStream(std::uint64_t seed, StreamPurpose purpose, std::uint64_t index);

  std::uint64_t Next();
  // Uniform on [0, 1), a multiple of 2^-53.
  double Uniform();
  // Standard normal by Box and Muller (1958); draws come in pairs, the second is kept.
  double Normal();
  // Standard normal by the ziggurat of Marsaglia and Tsang (2000), 256 layers: other numbers than
  // Normal, in less than half its time. For worlds of many millions of them.
  double QuickNormal();
  // Uniform on {0, .., bound - 1}, unbiased. Requires bound >= 1.
  std::uint64_t Below(std::uint64_t bound);

 private:
  std::uint64_t state_;
  std::optional<double> spare_normal_;
};

// `count` distinct members of {0, .., bound - 1} in uniformly random order (Floyd's algorithm, then
// a shuffle). Requires count <= bound. Cost: O(count^2) comparisons, for counts up to a few
// thousand.
void SampleDistinct(SeededStream& stream, std::uint32_t bound, std::uint32_t count,
                    std::vector<std::uint32_t>& out);

// Fisher and Yates.
template <typename T>
void Shuffle(SeededStream& stream, std::span<T> values) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[stream.Below(i)]);
}

// Image of `position` under permutation number `round` of {0, .., size - 1}: a four-round Feistel
// network on the next even power of two, walked until it lands inside. Needs no memory. Requires
// position < size.
std::uint64_t Permuted(std::uint64_t seed, std::uint64_t round, std::uint64_t size,
                       std::uint64_t position);

}  // namespace bandana
