// Values by the names of a schema's fields, as a caller gave them. Texts and names are views of the
// caller's.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace bandana {

struct NamedValue {
  enum class Kind { kNull, kNumber, kText, kFlag, kList, kObject };
  Kind kind = Kind::kNull;
  double number = 0;
  bool flag = false;
  std::string_view text;
  std::vector<NamedValue> list;

  static NamedValue Number(double number) { return {.kind = Kind::kNumber, .number = number}; }
  static NamedValue Text(std::string_view text) { return {.kind = Kind::kText, .text = text}; }
  static NamedValue Flag(bool flag) { return {.kind = Kind::kFlag, .flag = flag}; }
  static NamedValue List(std::vector<NamedValue> list) {
    return {.kind = Kind::kList, .list = std::move(list)};
  }
};

// Each name once, in any order.
using NamedValues = std::vector<std::pair<std::string_view, NamedValue>>;

}  // namespace bandana
