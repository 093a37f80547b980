// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace bandana {

// The bytes of the character at the front of `text`, which is not empty; 0 when it is none. Longer
// forms than needed, surrogates and what is above U+10FFFF are no characters.
std::size_t CharacterBytes(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace bandana
