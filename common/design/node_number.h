// Users of a graph whose ids are numbers.
#pragma once

#include <string_view>

#include "absl/strings/numbers.h"
#include "common/base/status.h"

namespace bandana {

// The node whose number is the user's id, where no map says which users there are; -1: none.
inline int NodeOfNumber(std::string_view user, int nodes) {
  const bool canonical = user == "0" || (!user.empty() && user.front() != '0');
  int node = -1;
  const bool fits = canonical && user.find_first_not_of("0123456789") == std::string_view::npos &&
                    absl::SimpleAtoi(ToAbsl(user), &node) && node < nodes;
  return fits ? node : -1;
}

}  // namespace bandana
