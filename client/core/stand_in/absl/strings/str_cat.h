// absl::StrCat of integers, reals (six digits, as %g), characters' bytes and texts.
#pragma once

#include <concepts>
#include <cstdio>
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
inline void AppendPiece(std::string& out, double value) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%g", value);
  out.append(text, static_cast<std::size_t>(length));
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
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  (stand_in::AppendPiece(out, pieces), ...);
  return out;
}

template <typename... Pieces>
void StrAppend(std::string* out, const Pieces&... pieces) {
  (stand_in::AppendPiece(*out, pieces), ...);
}

}  // namespace absl
