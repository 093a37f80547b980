// Erasing private numbers so that the compiler cannot leave the writes out.
#pragma once

#include <string.h>

#include <vector>

namespace bandana {

template <typename T>
void Erase(std::vector<T>& values) {
  if (!values.empty()) explicit_bzero(values.data(), values.size() * sizeof(T));
}

}  // namespace bandana
