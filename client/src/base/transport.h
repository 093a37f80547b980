// The connection: calls of bytes over gRPC, which is seen by transport.cc only.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/core/calls.h"
#include "common/channel/channel.h"

namespace bandana::device {

// Threads: safe; answers come from its own thread, or the caller's.
class Transport : public Calls {
 public:
  // Cancels what is under way, waits for its callbacks and stops the thread. Calls made afterwards
  // are answered CANCELLED by their caller's thread. Not from a callback.
  virtual void Shutdown() = 0;
};

// Over gRPC: one connection, one completion queue, one thread. Does not wait for the server.
// `only_for_calls`: the connection is closed with the last call under way, before that one is
// answered, and the next one opens another; so the end of a process ends none. Errors: as
// Connection::Open.
absl::StatusOr<std::unique_ptr<Transport>> OpenTransport(const std::string& target,
                                                         const ChannelSecurity& security = {},
                                                         bool only_for_calls = false);

}  // namespace bandana::device
