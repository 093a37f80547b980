// Seeded numbers for test data. Never linked into anything shipped.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace bandana::testing {

// SplitMix64 with Box-Muller normals: the same numbers on every machine up to the rounding of log
// and cos.
class TestRng {
 public:
  explicit TestRng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, 1), 53 bits.
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  // In [0, n).
  int Index(int n) { return static_cast<int>(Bits() % static_cast<std::uint64_t>(n)); }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  // Uniform direction in R^d.
  std::vector<double> UnitVector(int d) {
    std::vector<double> x(d);
    double square = 0;
    for (double& v : x) {
      v = Normal();
      square += v * v;
    }
    for (double& v : x) v /= std::sqrt(square);
    return x;
  }

 private:
  std::uint64_t state_;
};

}  // namespace bandana::testing
