#include "tests/support/http_request.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace bandana::testing {

int ConnectTo(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const auto port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  sockaddr_storage peer{};
  socklen_t size = sizeof(sockaddr_in);
  if (address.starts_with('[')) {
    auto& six = reinterpret_cast<sockaddr_in6&>(peer);
    six.sin6_family = AF_INET6;
    six.sin6_port = port;
    ::inet_pton(AF_INET6, address.substr(1, colon - 2).c_str(), &six.sin6_addr);
    size = sizeof six;
  } else {
    auto& four = reinterpret_cast<sockaddr_in&>(peer);
    four.sin_family = AF_INET;
    four.sin_port = port;
    ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &four.sin_addr);
  }
  const int fd = ::socket(peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&peer), size) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

std::string Exchange(const std::string& address, const std::string& bytes) {
  std::string answer;
  const int fd = ConnectTo(address);
  if (fd < 0) return answer;
  // A request that is refused early is not read to its end.
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
  char buffer[4096];
  for (ssize_t n; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return answer;
}

namespace {

// Chunks as one (RFC 9112, 7.1). Nothing: they end before the last one.
std::optional<std::string> Joined(std::string_view chunks) {
  std::string whole;
  for (;;) {
    const std::size_t end = chunks.find("\r\n");
    std::size_t size = 0;
    if (end == std::string_view::npos ||
        std::from_chars(chunks.data(), chunks.data() + end, size, 16).ec != std::errc() ||
        chunks.size() < end + 2 + size + 2) {
      return std::nullopt;
    }
    if (size == 0) return whole;
    whole += chunks.substr(end + 2, size);
    chunks.remove_prefix(end + 2 + size + 2);
  }
}

}  // namespace

HttpResult Send(const std::string& address, const HttpSent& sent) {
  HttpResult result;
  std::string request = sent.method + " " + sent.path +
                        " HTTP/1.1\r\nHost: " + (sent.host.empty() ? address : sent.host) + "\r\n";
  for (const std::string& header : sent.headers) request += header + "\r\n";
  if (!sent.body.empty()) {
    request += "Content-Length: " + std::to_string(sent.body.size()) + "\r\n";
  }
  request += "Connection: close\r\n\r\n" + sent.body;
  const std::string answer = Exchange(address, request);
  const std::size_t end = answer.find("\r\n\r\n");
  if (end == std::string::npos || !answer.starts_with("HTTP/1.1 ")) return result;
  result.status = std::atoi(answer.c_str() + 9);
  result.head = answer.substr(0, end);
  result.body = answer.substr(end + 4);
  if (HeaderOf(result, "Transfer-Encoding") == "chunked") {
    const std::optional<std::string> whole = Joined(result.body);
    if (!whole) return {};
    result.body = *whole;
  }
  return result;
}

std::string HeaderOf(const HttpResult& result, const std::string& name) {
  const std::size_t at = result.head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t from = at + 4 + name.size();
  return result.head.substr(from, result.head.find("\r\n", from) - from);
}

HttpResult HttpRequest(const std::string& address, const std::string& path,
                       const std::string& method) {
  return Send(address, {.method = method, .path = path});
}

}  // namespace bandana::testing
