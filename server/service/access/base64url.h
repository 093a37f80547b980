// Base64 with the alphabet for URLs and without padding (RFC 4648, 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bandana::server {

// Nothing of text with padding, of another alphabet, or whose last character has bits that belong
// to no byte: each byte string has one text alone.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace bandana::server
