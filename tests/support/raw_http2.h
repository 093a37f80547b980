// HTTP/2 by hand: clients that break what gRPC's own keep.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bandana::testing {

// A TCP connection to 127.0.0.1:PORT, from `source` (of 127.0.0.0/8; empty: 127.0.0.1). Not
// thread-safe. Sends and reads block for ten seconds at most.
class RawSocket {
 public:
  explicit RawSocket(const std::string& address, const std::string& source = "");
  ~RawSocket();
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;

  bool connected() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }  // stays the socket's
  // False when the peer is gone.
  bool Send(const std::string& bytes);
  // The bytes that have come; empty: closed, or nothing within ten seconds. `closed` tells which.
  std::string Receive(bool& closed);

 private:
  int fd_ = -1;
};

// The client's preface and SETTINGS. `window` is what the peer may send on a stream before it is
// told to go on: 0 stops every answer.
std::string Http2Preface(std::uint32_t window);

// One unary gRPC call: HEADERS and DATA. Streams are odd and ascend.
std::string Http2Call(std::uint32_t stream, const std::string& path, const std::string& message,
                      const std::vector<std::pair<std::string, std::string>>& metadata = {});

}  // namespace bandana::testing
