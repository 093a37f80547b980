// Arms in one byte per feature, and what that says of their products with a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bandana {

// Arms side by side. Each feature is rounded to a multiple of the largest one's 127th part.
// Threads: immutable.
class ArmSketch {
 public:
  ArmSketch() = default;
  // `features`: n x dimension, row-major, finite.
  ArmSketch(std::span<const double> features, int dimension);

  int size() const { return static_cast<int>(norms_.size()); }
  // products() has so many entries; those beyond size() mean nothing.
  int padded() const { return padded_; }
  // |x_a|_2, not less. Zero where an arm's norm is.
  std::span<const float> norms() const { return norms_; }
  double norm_max() const { return norm_max_; }  // not less than any |x_a|_2
  std::size_t bytes() const;
  void Prefetch() const { __builtin_prefetch(words_.data()); }

  // A vector v, made ready for sketches of one dimension.
  struct Vector {
    explicit Vector(std::span<const double> v);
    std::vector<float> values;  // padded with zeros
    double norm = 0;            // |v|_2
  };
  // products[a] is x_a . v but for an error of at most the value returned, which is infinite where
  // nothing can be said.
  double Products(const Vector& v, float* products) const;

 private:
  int padded_ = 0;
  double unit_ = 0;      // one step of a byte
  double error_ = 0;     // largest |x - its bytes times unit|_2
  double norm_max_ = 0;  // largest |x|_2
  std::vector<std::int32_t> words_;
  std::vector<float> norms_;
};

}  // namespace bandana
