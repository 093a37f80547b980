#include "common/ranking/arm_sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/linalg/byte_products.h"

namespace bandana {
namespace {

constexpr int kSteps = 127;
// Above what rounding a sum of 4096 squares, or dividing by the unit, may lose.
constexpr double kUp = 1 + 1e-10;
// Where floats may overflow, nothing is said; below its inverse they have fewer digits.
constexpr double kProductMax = 1e30;
// So far is a float from the number it stands for, as a part of it; and doubled.
constexpr double kFloatError = 1.0 / (1 << 23);

std::size_t RoundUp(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// For numbers near the range of a byte; faster than a call of the library.
double Nearest(double x) { return static_cast<int>(x + (x < 0 ? -0.5 : 0.5)); }

double Norm(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum) * kUp;
}

float NotLess(double x) {
  const auto rounded = static_cast<float>(x);
  return rounded >= x ? rounded : std::nextafter(rounded, std::numeric_limits<float>::infinity());
}

}  // namespace

ArmSketch::ArmSketch(std::span<const double> features, int dimension) {
  const auto d = static_cast<std::size_t>(dimension);
  const std::size_t n = features.size() / d;
  padded_ = static_cast<int>(RoundUp(n, ByteProductsKernel::kArms));
  words_.resize(static_cast<std::size_t>(padded_) * (RoundUp(d, 4) / 4));
  norms_.reserve(n);
  double largest = 0;
  for (const double x : features) largest = std::max(largest, std::abs(x));
  unit_ = largest / kSteps;
  // Features that are next to nothing: bytes of zero, and the error is the norm.
  const double steps = unit_ * kProductMax >= 1 ? 1 / unit_ : 0;
  for (std::size_t a = 0; a < n; ++a) {
    const std::span<const double> x = features.subspan(a * d, d);
    double square = 0;
    for (std::size_t j = 0; j < d; ++j) {
      const double step = std::clamp(Nearest(x[j] * steps), -127.0, 127.0);
      const double rest = x[j] - step * unit_;
      square += rest * rest;
      const auto byte = static_cast<std::uint8_t>(static_cast<int>(step));
      std::int32_t& word = words_[j / 4 * static_cast<std::size_t>(padded_) + a];
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | std::uint32_t{byte}
                                                                              << (8 * (j % 4)));
    }
    // A bound on what rounding may have hidden of `rest`.
    error_ = std::max(error_, std::sqrt(square) * kUp + 1e-14 * largest * std::sqrt(double(d)));
    norms_.push_back(NotLess(Norm(x)));
    norm_max_ = std::max(norm_max_, double{norms_.back()});
  }
}

std::size_t ArmSketch::bytes() const {
  return words_.capacity() * sizeof words_[0] + norms_.capacity() * sizeof norms_[0];
}

ArmSketch::Vector::Vector(std::span<const double> v)
    : values(RoundUp(v.size(), ByteProductsKernel::kFeatures)), norm(Norm(v)) {
  for (std::size_t j = 0; j < v.size(); ++j) values[j] = static_cast<float>(v[j]);
}

double ArmSketch::Products(const Vector& v, float* products) const {
  // Also where the vector has a NaN, or its norm overflows.
  const double size = norm_max_ + error_;
  if (!(v.norm * size < kProductMax && v.norm < kProductMax)) {
    std::fill_n(products, padded_, 0.0f);
    return std::numeric_limits<double>::infinity();
  }
  ByteProducts().compute(words_.data(), padded_, static_cast<int>(v.values.size()), v.values.data(),
                         products);
  const auto unit = static_cast<float>(unit_);
  for (int a = 0; a < padded_; ++a) products[a] *= unit;
  // The bytes' own error; and v, the unit, each product and each sum are rounded to floats, the
  // last ones by at most (d + 4) halves of kFloatError of the sum of all |terms|, which is at most
  // |bytes| |v|. The loss to subnormal floats is less than the last term.
  const double terms = static_cast<double>(v.values.size()) + 4;
  return v.norm * (error_ + terms * kFloatError * size) * kUp + (1 + size) / kProductMax;
}

}  // namespace bandana
