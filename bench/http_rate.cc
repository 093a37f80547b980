// How many selections per second a server's door for HTTP answers: connections that stay open, one
// call in flight on each. `http_rate --target HOST:PORT --model NAME --arms N --dimension D`.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

ABSL_FLAG(std::string, target, "127.0.0.1:7073", "IPv4 address and port of api_listen");
ABSL_FLAG(std::string, model, "bench", "model that is asked");
ABSL_FLAG(std::string, token, "", "bearer token; empty: none");
ABSL_FLAG(int, arms, 25, "arms of a request");
ABSL_FLAG(int, dimension, 25, "features of an arm");
ABSL_FLAG(int, connections, 4, "calls in flight");
ABSL_FLAG(double, seconds, 5, "how long");

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

std::string Request() {
  std::string features;
  const int arms = absl::GetFlag(FLAGS_arms);
  const int dimension = absl::GetFlag(FLAGS_dimension);
  for (int i = 0; i < arms * dimension; ++i) {
    absl::StrAppend(&features, i == 0 ? "" : ",", 0.01 * ((i * 37) % 19 - 9));
  }
  const std::string body =
      absl::StrCat("{\"user\":\"ann\",\"arms\":{\"inlineArms\":{\"features\":[", features, "]}}}");
  std::string head =
      absl::StrCat("POST /v1/models/", absl::GetFlag(FLAGS_model),
                   ":select HTTP/1.1\r\nHost: bench\r\nContent-Length: ", body.size(),
                   "\r\nContent-Type: application/json\r\n");
  if (const std::string token = absl::GetFlag(FLAGS_token); !token.empty()) {
    absl::StrAppend(&head, "Authorization: Bearer ", token, "\r\n");
  }
  return head + "\r\n" + body;
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

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const std::string request = Request();
  const absl::Time end = absl::Now() + absl::Seconds(absl::GetFlag(FLAGS_seconds));
  std::atomic<int> failed{0};
  std::vector<std::vector<double>> micros(
      static_cast<std::size_t>(absl::GetFlag(FLAGS_connections)));
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  for (auto& mine : micros) {
    threads.emplace_back([&] {
      const int fd = Connect(absl::GetFlag(FLAGS_target));
      std::string buffer;
      while (absl::Now() < end) {
        const absl::Time sent = absl::Now();
        if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) <= 0 ||
            ReadAnswer(fd, buffer) != 200) {
          ++failed;
          break;
        }
        mine.push_back(absl::ToDoubleMicroseconds(absl::Now() - sent));
      }
      ::close(fd);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  std::vector<double> all;
  for (const auto& mine : micros) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  const auto quantile = [&](double q) {
    return all.empty() ? 0 : all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))];
  };
  std::printf(
      "%d arms of %d features, %zu bytes a request, %d in flight: %.0f selections/s, p50 %.0f us, "
      "p99 %.0f us, %d failed\n",
      absl::GetFlag(FLAGS_arms), absl::GetFlag(FLAGS_dimension), request.size(),
      absl::GetFlag(FLAGS_connections), static_cast<double>(all.size()) / seconds, quantile(0.5),
      quantile(0.99), failed.load());
  return failed.load() == 0 && !all.empty() ? 0 : 1;
}
