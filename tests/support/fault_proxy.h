// A TCP proxy on loopback that a test puts between a client and a server, to make the network bad.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"

namespace bandana::testing {

// Threads: safe; one thread of its own moves the bytes.
class FaultProxy {
 public:
  enum class Mode {
    kPass,
    kSlow,       // each piece of bytes waits for the delay, in both directions
    kBlackHole,  // connections stay open; nothing arrives, in either direction, until another mode
    kDeaf,       // what the server answers does not arrive; what the client says does
    kRefuse,     // connections are reset as they come, those that are there at once
    kHalfClose,  // the client is told that the server says nothing more; its own bytes still pass
  };

  // Listens on a free port. `target`: 127.0.0.1:PORT.
  static std::unique_ptr<FaultProxy> Start(const std::string& target);
  virtual ~FaultProxy() = default;

  virtual std::string address() const = 0;  // 127.0.0.1:PORT
  virtual void Set(Mode mode, absl::Duration delay = absl::ZeroDuration()) = 0;
  // Resets every connection that is open now.
  virtual void Cut() = 0;
  virtual std::uint64_t connections() const = 0;  // accepted so far
  virtual std::uint64_t bytes() const = 0;        // passed on so far
};

}  // namespace bandana::testing
