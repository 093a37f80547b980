#include "common/base/exact_number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace bandana {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits at the front, taken off.
std::string_view TakeDigits(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), IsDigit);
  const auto count = static_cast<std::size_t>(end - rest.begin());
  const std::string_view digits = rest.substr(0, count);
  rest.remove_prefix(count);
  return digits;
}

bool Take(std::string_view& rest, char c) {
  if (rest.empty() || rest.front() != c) return false;
  rest.remove_prefix(1);
  return true;
}

// A whole number in units of 2^-kFractionBits, exact but for divisions, which are rounded down and
// remember that they were. Room for 10^17 times 10^308; of 10^-342, 64 bits are left.
class BigNumber {
 public:
  static constexpr int kFractionBits = 1216;

  explicit BigNumber(std::uint64_t whole) {
    limbs_[kFractionBits / 32] = static_cast<std::uint32_t>(whole);
    limbs_[kFractionBits / 32 + 1] = static_cast<std::uint32_t>(whole >> 32);
  }

  void Times(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& limb : limbs_) {
      carry += std::uint64_t{limb} * factor;
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  void DivideBy(std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (auto limb = limbs_.rbegin(); limb != limbs_.rend(); ++limb) {
      rest = rest << 32 | *limb;
      *limb = static_cast<std::uint32_t>(rest / divisor);
      rest %= divisor;
    }
    inexact_ = inexact_ || rest != 0;
  }

  // Ties to even; infinity where it is too large.
  double Nearest() const {
    int top = kBits - 1;
    while (top >= 0 && !Bit(top)) --top;
    if (top < 0) return 0;
    // The last bit of the double's mantissa: 53 bits, less where the double is subnormal.
    const int last = std::max(top - 52, kFractionBits - 1074);
    std::uint64_t mantissa = 0;
    for (int i = std::max(top, last); i >= last; --i) mantissa = mantissa << 1 | Bit(i);
    bool below = inexact_;
    for (int i = 0; i < last - 1 && !below; ++i) below = Bit(i);
    if (Bit(last - 1) && (below || (mantissa & 1) != 0)) ++mantissa;
    return std::ldexp(static_cast<double>(mantissa), last - kFractionBits);
  }

 private:
  static constexpr int kLimbs = 74;
  static constexpr int kBits = kLimbs * 32;

  bool Bit(int i) const { return (limbs_[static_cast<std::size_t>(i / 32)] >> i % 32 & 1) != 0; }

  std::array<std::uint32_t, kLimbs> limbs_{};  // the least first
  bool inexact_ = false;
};

double NearestTo(std::uint64_t digits, int exponent) {
  constexpr int kLargest = 308;    // 10^309 is no double
  constexpr int kSmallest = -342;  // 10^17 10^-342 is less than half the least double
  if (digits == 0 || exponent < kSmallest) return 0;
  if (exponent > kLargest) return std::numeric_limits<double>::infinity();
  BigNumber number(digits);
  constexpr int kStep = 9;
  constexpr std::uint32_t kPower = 1'000'000'000;
  for (; exponent >= kStep; exponent -= kStep) number.Times(kPower);
  for (; exponent > 0; --exponent) number.Times(10);
  for (; exponent <= -kStep; exponent += kStep) number.DivideBy(kPower);
  for (; exponent < 0; ++exponent) number.DivideBy(10);
  return number.Nearest();
}

}  // namespace

std::optional<double> ReadExactNumber(std::string_view text) {
  constexpr std::size_t kDigitsMax = 17;
  constexpr std::size_t kExponentDigitsMax = 3;
  const bool negative = Take(text, '-');
  const std::string_view whole = TakeDigits(text);
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return std::nullopt;
  std::string_view fraction;
  if (Take(text, '.')) {
    fraction = TakeDigits(text);
    if (fraction.empty()) return std::nullopt;
  }
  int exponent = 0;
  if (Take(text, 'e')) {
    const bool below_one = Take(text, '-');
    if (!below_one && !Take(text, '+')) return std::nullopt;
    const std::string_view digits = TakeDigits(text);
    if (digits.empty() || digits.size() > kExponentDigitsMax) return std::nullopt;
    for (const char c : digits) exponent = exponent * 10 + (c - '0');
    if (below_one) exponent = -exponent;
  }
  if (!text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  std::size_t significant = 0;
  for (const std::string_view part : {whole, fraction}) {
    for (const char c : part) {
      if (c == '0' && significant == 0) continue;
      if (++significant > kDigitsMax) return std::nullopt;
      number = number * 10 + static_cast<std::uint64_t>(c - '0');
    }
  }
  // A fraction of many zeros ends in a number that is as small as any.
  const auto places = static_cast<int>(std::min<std::size_t>(fraction.size(), 10'000));
  const double value = NearestTo(number, exponent - places);
  if (!std::isfinite(value)) return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::uint64_t> ReadWholeNumber(std::string_view text, std::uint64_t max) {
  const std::string_view digits = TakeDigits(text);
  if (digits.empty() || !text.empty() || (digits.size() > 1 && digits.front() == '0')) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  for (const char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (number > (max - std::min(max, digit)) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  return number <= max ? std::optional(number) : std::nullopt;
}

}  // namespace bandana
