#include "server/service/access/base64url.h"

#include "absl/strings/escaping.h"
#include "common/base/status.h"

namespace bandana::server {

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  if (text.find_first_of("=.\r\n\t ") != std::string_view::npos) return std::nullopt;
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(ToAbsl(text), &bytes)) return std::nullopt;
  // abseil ignores what is left of the last character.
  if (absl::WebSafeBase64Escape(bytes) != ToAbsl(text)) return std::nullopt;
  return bytes;
}

}  // namespace bandana::server
