// The sensitivity of phi(x, r) = (x x^T, r x): a search for a larger pair of neighbours.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/random/bit_source.h"
#include "tests/support/seeded_bits.h"

namespace bandana::testing {
namespace {

// Uniform on [-1, 1).
double Draw(BitSource& bits) {
  return std::ldexp(static_cast<double>(static_cast<std::int64_t>(*bits.NextWord())), -63);
}

struct Pair {
  std::vector<double> x, y;
  double r = 0, s = 0;
};

void Project(std::vector<double>& x) {
  double norm = 0;
  for (const double value : x) norm += value * value;
  if (norm > 1) {
    for (double& value : x) value /= std::sqrt(norm);
  }
}

// |phi(x, r) - phi(y, s)|^2 by its entries.
double Distance(const Pair& pair) {
  double sum = 0;
  for (std::size_t i = 0; i < pair.x.size(); ++i) {
    for (std::size_t j = 0; j < pair.x.size(); ++j) {
      const double gap = pair.x[i] * pair.x[j] - pair.y[i] * pair.y[j];
      sum += gap * gap;
    }
    const double gap = pair.r * pair.x[i] - pair.s * pair.y[i];
    sum += gap * gap;
  }
  return sum;
}

Pair Moved(const Pair& from, double step, BitSource& bits) {
  Pair to = from;
  for (double& value : to.x) value += step * Draw(bits);
  for (double& value : to.y) value += step * Draw(bits);
  Project(to.x);
  Project(to.y);
  to.r = std::clamp(to.r + step * Draw(bits), -1.0, 1.0);
  to.s = std::clamp(to.s + step * Draw(bits), -1.0, 1.0);
  return to;
}

// The best of a hill climb with shrinking steps from a random pair.
double Climb(int dimension, BitSource& bits) {
  const Pair zero{std::vector<double>(dimension, 0), std::vector<double>(dimension, 0)};
  Pair best = Moved(zero, 1, bits);
  double distance = Distance(best);
  for (double step = 0.5; step > 1e-5; step *= 0.7) {
    for (int i = 0; i < 100; ++i) {
      const Pair next = Moved(best, step, bits);
      const double there = Distance(next);
      if (there > distance) {
        best = next;
        distance = there;
      }
    }
  }
  return distance;
}

TEST(JointSensitivityPropertyTest, NoPairIsFartherApartThanTheBoundAndOneAttainsIt) {
  SeededBits bits(600);
  for (const auto& [dimension, bound] : {std::pair{1, 4.0}, {2, 4.5}, {3, 4.5}, {6, 4.5}}) {
    double best = 0;
    for (int start = 0; start < 20; ++start) best = std::max(best, Climb(dimension, bits));
    EXPECT_LE(best, bound + 1e-12) << dimension;
    EXPECT_GE(best, bound - 1e-4) << dimension;
  }
}

}  // namespace
}  // namespace bandana::testing
