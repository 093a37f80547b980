// Error messages on their way to a peer.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bandana::server {

// The message cut to kErrorMessageBytesMax bytes, with every byte that is not printable ASCII
// replaced by '?': it may quote what the peer sent, and goes into trailers and into protobuf
// strings, which must be UTF-8.
std::string TextForPeer(absl::string_view message);
// The status with such a message.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace bandana::server
