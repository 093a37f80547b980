// absl::StrCat of integers, reals (six digits, as %g), characters' bytes and texts.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace absl {
namespace stand_in {

inline void AppendPiece(std::string& out, std::string_view piece) { out.append(piece); }
inline void AppendPiece(std::string& out, const char* piece) {
  if (piece != nullptr) out.append(piece);
}
// As %g, for people: a seventh digit that is nearly 5 may be rounded either way. printf would bring
// 20 KB.
inline void AppendPiece(std::string& out, double value) {
  if (value != value) return AppendPiece(out, "nan");
  if (std::signbit(value)) out += '-';
  double rest = std::fabs(value);
  if (rest > std::numeric_limits<double>::max()) return AppendPiece(out, "inf");
  if (rest == 0) return AppendPiece(out, "0");
  int exponent = 0;                            // of the first digit
  for (; rest >= 1e6; rest /= 10) ++exponent;  // NOLINT(cert-flp30-c)
  for (; rest < 1e5; rest *= 10) --exponent;   // NOLINT(cert-flp30-c)
  auto digits = static_cast<std::uint32_t>(std::nearbyint(rest));
  exponent += 5;
  if (digits == 1'000'000) {
    digits /= 10;
    ++exponent;
  }
  int count = 6;
  for (; digits % 10 == 0 && count > 1; --count) digits /= 10;
  const std::string text = std::to_string(digits);
  const bool scientific = exponent < -4 || exponent >= 6;
  const int point = scientific ? 1 : exponent + 1;  // digits before it
  if (point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(text);
  } else if (point >= count) {
    out.append(text).append(static_cast<std::size_t>(point - count), '0');
  } else {
    out.append(text, 0, static_cast<std::size_t>(point)).append(".");
    out.append(text, static_cast<std::size_t>(point));
  }
  if (!scientific) return;
  out += exponent < 0 ? "e-" : "e+";
  if (std::abs(exponent) < 10) out += '0';
  out += std::to_string(std::abs(exponent));
}
template <std::integral Integer>
void AppendPiece(std::string& out, Integer value) {
  static_assert(!std::is_same_v<Integer, char>, "StrCat takes no char");
  if constexpr (std::is_signed_v<Integer>) {
    out.append(std::to_string(static_cast<long long>(value)));
  } else {
    out.append(std::to_string(static_cast<unsigned long long>(value)));
  }
}

}  // namespace stand_in

template <typename... Pieces>
[[gnu::noinline]] std::string StrCat(const Pieces&... pieces) {
  std::string out;
  (stand_in::AppendPiece(out, pieces), ...);
  return out;
}

template <typename... Pieces>
void StrAppend(std::string* out, const Pieces&... pieces) {
  (stand_in::AppendPiece(*out, pieces), ...);
}

}  // namespace absl
