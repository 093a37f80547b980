// Zipf's law over ranks.
#pragma once

#include <cstdint>

#include "tools/environments/random.h"

namespace bandana {

// Rank r in {0, .., n - 1} with probability proportional to (r + 1)^-exponent, by rejection from
// the integral of the law [Hoermann, Derflinger 1996]: no table, and some 1.1 uniform numbers per
// draw whatever n is. Immutable. Threads: safe.
class ZipfLaw {
 public:
  // Requires n >= 1 and 0 <= exponent <= 10; 0 is the uniform law.
  ZipfLaw(std::uint64_t n, double exponent);

  std::uint64_t Draw(SeededStream& stream) const;

 private:
  double Density(double x) const;     // x^-exponent
  double Integral(double x) const;    // of the density from 1
  double Inverse(double area) const;  // of Integral

  double n_;
  double exponent_;
  double area_first_;
  double area_last_;
  double always_;  // closer to a rank's middle than this every point is taken
};

}  // namespace bandana
