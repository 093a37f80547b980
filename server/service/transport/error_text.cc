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

// The codes of absl and gRPC are the same numbers.
grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.raw_code()), TextForPeer(status.message())};
}

}  // namespace bandana::server
