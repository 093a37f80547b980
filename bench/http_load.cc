#include "bench/http_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/check.h"

namespace bandana::bench {
namespace {

int Connect(const std::string& target) {
  const std::size_t colon = target.rfind(':');
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<std::uint16_t>(std::atoi(target.c_str() + colon + 1)));
  ::inet_pton(AF_INET, target.substr(0, colon).c_str(), &peer.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) return -1;
  return fd;
}

// The status of the next answer; 0: the connection is over.
int ReadAnswer(int fd, std::string& buffer) {
  for (;;) {
    const std::size_t end = buffer.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t at = buffer.find("Content-Length: ");
      const std::size_t length = at < end ? std::strtoul(buffer.c_str() + at + 16, nullptr, 10) : 0;
      if (buffer.size() >= end + 4 + length) {
        const int status = std::atoi(buffer.c_str() + 9);
        buffer.erase(0, end + 4 + length);
        return status;
      }
    }
    char chunk[16384];
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
    if (n <= 0) return 0;
    buffer.append(chunk, static_cast<std::size_t>(n));
  }
}

}  // namespace

std::string SelectByHttp(const std::string& body) {
  return absl::StrCat("POST /v1/models/m:select HTTP/1.1\r\nHost: localhost\r\nContent-Length: ",
                      body.size(), "\r\nContent-Type: application/json\r\n\r\n", body);
}

Latencies AskByHttp(const std::string& target, const std::vector<std::string>& requests,
                    int connections, absl::Duration time) {
  const absl::Time end = absl::Now() + time;
  std::vector<Latencies> micros(static_cast<std::size_t>(connections));
  std::vector<std::thread> threads;
  for (Latencies& mine : micros) {
    threads.emplace_back([&] {
      const int fd = Connect(target);
      std::string buffer;
      for (std::size_t i = 0; absl::Now() < end; ++i) {
        const std::string& request = requests[i % requests.size()];
        const absl::Time sent = absl::Now();
        BANDANA_CHECK(::send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
                      static_cast<ssize_t>(request.size()));
        BANDANA_CHECK(ReadAnswer(fd, buffer) == 200);
        mine.push_back(absl::ToDoubleMicroseconds(absl::Now() - sent));
      }
      ::close(fd);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Latencies all;
  for (const Latencies& mine : micros) all.insert(all.end(), mine.begin(), mine.end());
  return all;
}

}  // namespace bandana::bench
