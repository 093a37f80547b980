#include "tests/support/randomizer_mutants.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bandana::testing {

Law LawOf(std::span<const std::uint64_t> masses) {
  const long double total = std::accumulate(masses.begin(), masses.end(), 0.0L);
  Law law;
  for (const std::uint64_t mass : masses) law.push_back(static_cast<double>(mass / total));
  return law;
}

Law RatioFivePercentOff(const Law& right, std::size_t first) {
  Law mutant = right;
  const auto begin = mutant.begin() + static_cast<std::ptrdiff_t>(first);
  const double total = std::accumulate(begin, mutant.end(), 0.0);
  const auto [low, high] = std::minmax_element(begin, mutant.end());
  const double middle = std::sqrt(*low * *high);
  std::for_each(begin, mutant.end(), [middle](double& p) { p *= p > middle ? 1.05 : 1; });
  const double scale = total / std::accumulate(begin, mutant.end(), 0.0);
  std::for_each(begin, mutant.end(), [scale](double& p) { p *= scale; });
  return mutant;
}

Law WindowOneCellOff(const Law& right, std::size_t first) {
  Law mutant = right;
  std::rotate(mutant.begin() + static_cast<std::ptrdiff_t>(first), mutant.end() - 1, mutant.end());
  return mutant;
}

Law ProbabilityRoundedUp(const Law& right) {
  Law mutant = right;
  const auto largest = std::max_element(mutant.begin(), mutant.end());
  const double rounded = std::ceil(*largest * 128) / 128;
  const double scale = (1 - rounded) / (1 - *largest);
  for (double& p : mutant) p *= scale;
  *largest = rounded;
  return mutant;
}

Law NoClip(double epsilon) {
  const double c = (std::exp(epsilon) + 1) / (std::exp(epsilon) - 1);
  const double one = std::min(1.0, 0.5 + 1.5 / (2 * c));
  return {1 - one, one};
}

std::vector<std::uint64_t> SampleCounts(const Law& law, std::uint64_t n, BitSource& bits) {
  std::vector<double> below(law.size());
  std::partial_sum(law.begin(), law.end(), below.begin());
  below.back() = 1;
  std::vector<std::uint64_t> counts(law.size(), 0);
  for (std::uint64_t i = 0; i < n; ++i) {
    const double uniform = std::ldexp(static_cast<double>(*bits.NextWord() >> 11), -53);
    ++counts[std::upper_bound(below.begin(), below.end(), uniform) - below.begin()];
  }
  return counts;
}

}  // namespace bandana::testing
