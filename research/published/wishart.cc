#include "research/published/wishart.h"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/random/real_samplers.h"

namespace bandana {

// PROOF: published begin
absl::Status SampleWishart(int p, std::uint64_t k, double variance, std::span<double> packed,
                           BitSource& bits) {
  const auto rows = static_cast<std::size_t>(p);
  BANDANA_CHECK(p >= 1 && rows + 1 <= k && k <= std::uint64_t{1} << 40);
  BANDANA_CHECK(variance > 0 && std::isfinite(variance));
  BANDANA_CHECK(packed.size() == rows * (rows + 1) / 2);
  // A A^T with A lower triangular: standard normals below the diagonal, chi with k - i degrees of
  // freedom at (i, i).
  RealSampler sampler(bits);
  const double scale = std::sqrt(variance);
  for (std::size_t i = 0, next = 0; i < rows; ++i, ++next) {
    for (std::size_t j = 0; j < i; ++j, ++next) {
      BANDANA_ASSIGN_OR_RETURN(const double normal, sampler.Normal());
      packed[next] = scale * normal;
    }
    // A chi-square is twice a Gamma of half its degrees of freedom; at least 2 of them here.
    BANDANA_ASSIGN_OR_RETURN(const double gamma, sampler.Gamma(static_cast<double>(k - i) / 2));
    packed[next] = scale * std::sqrt(2 * gamma);
  }
  // In place from the last entry on: row i of A A^T reads rows up to i, columns up to its own.
  const auto row = [&packed](std::size_t i) { return packed.subspan(i * (i + 1) / 2, i + 1); };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = i + 1; j-- > 0;) {
      double sum = 0;
      for (std::size_t c = 0; c <= j; ++c) sum += row(i)[c] * row(j)[c];
      row(i)[j] = sum;
    }
  }
  return absl::OkStatus();
}

absl::Status SampleSymmetricGaussian(int p, double sigma, std::span<double> packed,
                                     BitSource& bits) {
  const auto rows = static_cast<std::size_t>(p);
  BANDANA_CHECK(p >= 1 && packed.size() == rows * (rows + 1) / 2);
  BANDANA_CHECK(sigma > 0 && std::isfinite(sigma));
  BANDANA_RETURN_IF_ERROR(RealSampler(bits).FillNormal(packed));
  for (double& value : packed) value *= sigma;
  for (std::size_t i = 0; i < rows; ++i) packed[i * (i + 1) / 2 + i] *= std::numbers::sqrt2;
  return absl::OkStatus();
}
// PROOF: published end

}  // namespace bandana
