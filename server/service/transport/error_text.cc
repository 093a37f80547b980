#include "server/service/transport/error_text.h"

#include <algorithm>

#include "common/base/limits.h"

namespace bandana::server {

std::string TextForPeer(absl::string_view message) {
  std::string text(message.substr(0, kErrorMessageBytesMax));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace bandana::server
