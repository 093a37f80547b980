#include "research/lab/fliphat/lasso.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bandana::lab {
namespace {

constexpr int kFullSweepsMax = 20;
constexpr int kSupportSweepsMax = 50;
constexpr double kMoveMin = 1e-4;  // of a coordinate, where a fit ends

double SoftThreshold(double value, double threshold) {
  return std::copysign(std::max(0.0, std::abs(value) - threshold), value);
}

}  // namespace

LassoBandit::LassoBandit(int dimension)
    : dimension_(dimension), squares_(dimension, 0), theta_(dimension, 0) {}

void LassoBandit::Learn(std::span<const double> x, double reward) {
  const std::size_t n = residuals_.size();
  if (n == capacity_) {
    const std::size_t grown = std::max<std::size_t>(64, capacity_ * 2);
    std::vector<float> columns(grown * dimension_);
    for (std::size_t j = 0; j < dimension_; ++j) {
      std::copy_n(columns_.data() + j * capacity_, n, columns.data() + j * grown);
    }
    columns_ = std::move(columns);
    capacity_ = grown;
  }
  double residual = reward;
  for (std::size_t j = 0; j < dimension_; ++j) {
    const auto value = static_cast<float>(x[j]);
    columns_[j * capacity_ + n] = value;
    squares_[j] += static_cast<double>(value) * value;
    residual -= theta_[j] * value;
  }
  residuals_.push_back(residual);
  if (residuals_.size() < next_fit_) return;
  const auto t = static_cast<double>(residuals_.size());
  Fit(kPenalty * std::sqrt((4 * std::log(t) + 2 * std::log(static_cast<double>(dimension_))) / t));
  next_fit_ = residuals_.size() + std::max<std::uint64_t>(1, residuals_.size() / 8);
}

double LassoBandit::Sweep(std::span<const int> coordinates, double penalty) {
  const std::size_t n = residuals_.size();
  double largest = 0;
  for (const int j : coordinates) {
    if (squares_[j] == 0) continue;
    const float* column = columns_.data() + j * capacity_;
    double product = 0;
    for (std::size_t i = 0; i < n; ++i) product += column[i] * residuals_[i];
    const double next =
        SoftThreshold(product + squares_[j] * theta_[j], penalty * static_cast<double>(n)) /
        squares_[j];
    const double move = next - theta_[j];
    if (move == 0) continue;
    for (std::size_t i = 0; i < n; ++i) residuals_[i] -= move * column[i];
    theta_[j] = next;
    largest = std::max(largest, std::abs(move));
  }
  return largest;
}

void LassoBandit::Fit(double penalty) {
  std::vector<int> all(dimension_);
  std::iota(all.begin(), all.end(), 0);
  for (int full = 0; full < kFullSweepsMax; ++full) {
    if (Sweep(all, penalty) < kMoveMin) return;
    std::vector<int> support;
    for (const int j : all) {
      if (theta_[j] != 0) support.push_back(j);
    }
    for (int i = 0; i < kSupportSweepsMax && Sweep(support, penalty) >= kMoveMin; ++i) {
    }
  }
}

}  // namespace bandana::lab
