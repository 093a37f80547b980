#include "tests/support/raw_http2.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace bandana::testing {
namespace {

constexpr int kData = 0;
constexpr int kHeaders = 1;
constexpr int kSettings = 4;
constexpr int kEndStream = 1;
constexpr int kEndHeaders = 4;

std::string BigEndian(std::uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>((value >> shift) & 0xff);
  }
  return text;
}

std::string Frame(int type, int flags, std::uint32_t stream, const std::string& payload) {
  return BigEndian(static_cast<std::uint32_t>(payload.size()), 3) + static_cast<char>(type) +
         static_cast<char>(flags) + BigEndian(stream, 4) + payload;
}

// A literal without indexing, RFC 7541 section 6.2.2; both parts under 127 bytes.
std::string Field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

}  // namespace

RawSocket::RawSocket(const std::string& address, const std::string& source) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return;
  const timeval limit = {.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (!source.empty()) {
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    ::inet_pton(AF_INET, source.c_str(), &own.sin_addr);
    // The port is chosen when it connects: one to this address may also be used to others.
    const int late = 1;
    ::setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof late);
    ::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own);
  }
  sockaddr_in peer = {};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<std::uint16_t>(std::atoi(&address[address.rfind(':') + 1])));
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) == 0) return;
  ::close(fd_);
  fd_ = -1;
}

RawSocket::~RawSocket() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawSocket::Send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

std::string RawSocket::Receive(bool& closed) {
  char buffer[1 << 14];
  const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
  closed = n == 0 || (n < 0 && errno != EAGAIN);
  return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : std::string();
}

std::string Http2Preface(std::uint32_t window) {
  constexpr std::uint32_t kInitialWindowSize = 4;
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
         Frame(kSettings, 0, 0, BigEndian(kInitialWindowSize, 2) + BigEndian(window, 4));
}

std::string Http2Call(std::uint32_t stream, const std::string& path, const std::string& message,
                      const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::string fields = Field(":method", "POST") + Field(":scheme", "http") + Field(":path", path) +
                       Field(":authority", "localhost") + Field("te", "trailers") +
                       Field("content-type", "application/grpc");
  for (const auto& [name, value] : metadata) fields += Field(name, value);
  const std::string body =
      std::string(1, '\0') + BigEndian(static_cast<std::uint32_t>(message.size()), 4) + message;
  return Frame(kHeaders, kEndHeaders, stream, fields) + Frame(kData, kEndStream, stream, body);
}

}  // namespace bandana::testing
