// Fields of numbers: numeric, cyclic, boolean, vector.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "common/features/fields.h"

namespace bandana {
namespace {

bool IsFiniteNumber(const NamedValue& value) {
  return value.kind == NamedValue::Kind::kNumber && std::isfinite(value.number);
}

}  // namespace

Found NumericField::Encode(const NamedValue& value, std::span<double> block) const {
  if (!IsFiniteNumber(value)) return Found::kWrong;
  const double given = value.number;
  const double inside = std::clamp(given, low_, high_);
  const double share =
      log_ ? (std::log(inside) - std::log(low_)) / (std::log(high_) - std::log(low_))
           : (inside - low_) / (high_ - low_);
  block[0] = std::clamp(2 * share - 1, -1.0, 1.0);
  return inside == given ? Found::kValue : Found::kOutOfBounds;
}

std::string NumericField::Constraint(Found found) const {
  if (found == Found::kOutOfBounds) return absl::StrCat("must be in [", low_, ", ", high_, "]");
  return "must be a number";
}

Found CyclicField::Encode(const NamedValue& value, std::span<double> block) const {
  if (!IsFiniteNumber(value)) return Found::kWrong;
  const double turns = std::fmod(value.number, period_) / period_;
  block[0] = std::sin(2 * std::numbers::pi * turns);
  block[1] = std::cos(2 * std::numbers::pi * turns);
  return Found::kValue;
}

std::string CyclicField::Constraint(Found) const { return "must be a number"; }

std::string CyclicField::EntryName(int entry) const {
  return absl::StrCat(name(), entry == 0 ? ".sin" : ".cos");
}

Found BooleanField::Encode(const NamedValue& value, std::span<double> block) const {
  if (value.kind != NamedValue::Kind::kFlag) return Found::kWrong;
  block[0] = value.flag ? 1 : -1;
  return Found::kValue;
}

std::string BooleanField::Constraint(Found) const { return "must be true or false"; }

Found VectorField::Encode(const NamedValue& value, std::span<double> block) const {
  if (value.kind != NamedValue::Kind::kList) return Found::kWrong;
  const std::vector<NamedValue>& numbers = value.list;
  if (numbers.size() != block.size()) return Found::kWrong;
  double largest = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const NamedValue& number = numbers[i];
    if (!IsFiniteNumber(number)) return Found::kWrong;
    block[i] = number.number;
    largest = std::max(largest, std::abs(block[i]));
  }
  if (largest == 0) return Found::kValue;
  // Divided by the largest first: squares may overflow, or vanish.
  double sum = 0;
  for (const double v : block) sum += (v / largest) * (v / largest);
  const double relative_norm = std::sqrt(sum);  // in [1, sqrt(size)]
  // The quotient keeps its digits where bound and numbers are tiny.
  const bool outside = relative_norm > l2_max_ / largest;
  for (double& v : block) v = outside ? v / largest / relative_norm : v / l2_max_;
  return outside ? Found::kOutOfBounds : Found::kValue;
}

std::string VectorField::Constraint(Found found) const {
  if (found == Found::kOutOfBounds)
    return absl::StrCat("must have an l2 norm of at most ", l2_max_);
  return absl::StrCat("must be a list of ", size(), " numbers");
}

std::string VectorField::EntryName(int entry) const {
  return absl::StrCat(name(), "[", entry, "]");
}

}  // namespace bandana
