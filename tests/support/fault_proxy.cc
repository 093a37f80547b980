#include "tests/support/fault_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"

namespace bandana::testing {
namespace {

constexpr std::size_t kWaitingBytesMax = 1 << 20;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::abort();
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Closed with a reset instead of a polite end.
void Reset(int fd) {
  const linger hard{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  ::close(fd);
}

// One direction of a connection.
struct Pipe {
  int from = -1;
  int to = -1;
  bool answers = false;  // from the server
  std::deque<std::pair<absl::Time, std::string>> waiting;
  std::size_t waiting_bytes = 0;
  bool ended = false;   // nothing more comes
  bool closed = false;  // and the other side has been told
};

struct Link {
  int client = -1;
  int server = -1;
  Pipe up, down;
  bool dead = false;
};

class Proxy final : public FaultProxy {
 public:
  explicit Proxy(const std::string& target)
      : target_port_(std::atoi(target.substr(target.rfind(':') + 1).c_str())) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      Die("fault proxy");
    }
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    if (::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) Die("fault proxy");
    thread_ = std::thread([this] { Run(); });
  }
  ~Proxy() override {
    stop_ = true;
    Wake();
    thread_.join();
    for (Link& link : links_) Drop(link);
    ::close(listener_);
    ::close(wake_[0]);
    ::close(wake_[1]);
  }

  std::string address() const override { return address_; }
  void Set(Mode mode, absl::Duration delay) override {
    mode_ = mode;
    delay_ms_ = absl::ToInt64Milliseconds(delay);
    if (mode == Mode::kRefuse) cut_ = true;
    Wake();
  }
  void Cut() override {
    cut_ = true;
    Wake();
  }
  std::uint64_t connections() const override { return connections_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  void Wake() {
    const char one = 1;
    if (::write(wake_[1], &one, 1) < 0) return;  // full: it wakes anyway
  }

  void Run() {
    while (!stop_) {
      if (cut_.exchange(false)) {
        for (Link& link : links_) Drop(link);
      }
      links_.remove_if([](const Link& link) { return link.dead; });
      Poll();
      Accept();
      for (Link& link : links_) {
        for (Pipe* pipe : {&link.up, &link.down}) {
          if (!link.dead && !(Read(*pipe) && Write(*pipe))) Drop(link);
        }
        if (link.up.closed && link.down.closed) Drop(link);
      }
    }
  }

  void Poll() {
    std::vector<pollfd> fds = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    bool waits = false;
    for (const Link& link : links_) {
      for (const Pipe* pipe : {&link.up, &link.down}) {
        if (Reads(*pipe)) fds.push_back({pipe->from, POLLIN, 0});
        waits = waits || !pipe->waiting.empty();
      }
    }
    ::poll(fds.data(), fds.size(), waits ? 1 : 50);
    char drained[64];
    while (::read(wake_[0], drained, sizeof drained) > 0) continue;
  }

  bool Reads(const Pipe& pipe) const {
    return !pipe.ended && pipe.waiting_bytes < kWaitingBytesMax && !Holds(pipe);
  }
  bool Holds(const Pipe& pipe) const {
    return mode_ == Mode::kBlackHole || (mode_ == Mode::kDeaf && pipe.answers);
  }

  void Accept() {
    for (;;) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (client < 0) return;
      ++connections_;
      if (mode_ == Mode::kRefuse) {
        Reset(client);
        continue;
      }
      const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = Loopback(target_port_);
      if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(server);
        Reset(client);
        continue;
      }
      ::fcntl(server, F_SETFL, O_NONBLOCK);
      const int on = 1;
      for (const int fd : {client, server}) {
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      }
      Link& link = links_.emplace_back();
      link.client = client;
      link.server = server;
      link.up.from = link.down.to = client;
      link.up.to = link.down.from = server;
      link.down.answers = true;
    }
  }

  // False when the connection is broken.
  bool Read(Pipe& pipe) {
    while (Reads(pipe)) {
      char buffer[16384];
      const ssize_t n = ::read(pipe.from, buffer, sizeof buffer);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      if (n == 0) {
        pipe.ended = true;
        return true;
      }
      const absl::Duration delay =
          mode_ == Mode::kSlow ? absl::Milliseconds(delay_ms_.load()) : absl::ZeroDuration();
      pipe.waiting.emplace_back(absl::Now() + delay, std::string(buffer, n));
      pipe.waiting_bytes += static_cast<std::size_t>(n);
    }
    return true;
  }

  bool Write(Pipe& pipe) {
    if (mode_ == Mode::kHalfClose && pipe.answers && !pipe.closed) {
      pipe.ended = pipe.closed = true;
      pipe.waiting.clear();
      ::shutdown(pipe.to, SHUT_WR);
      return true;
    }
    while (!pipe.waiting.empty() && !Holds(pipe) && pipe.waiting.front().first <= absl::Now()) {
      std::string& piece = pipe.waiting.front().second;
      const ssize_t n = ::send(pipe.to, piece.data(), piece.size(), MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      bytes_ += static_cast<std::uint64_t>(n);
      pipe.waiting_bytes -= static_cast<std::size_t>(n);
      piece.erase(0, static_cast<std::size_t>(n));
      if (piece.empty()) pipe.waiting.pop_front();
    }
    if (pipe.ended && pipe.waiting.empty() && !pipe.closed) {
      pipe.closed = true;
      ::shutdown(pipe.to, SHUT_WR);
    }
    return true;
  }

  static void Drop(Link& link) {
    if (link.dead) return;
    Reset(link.client);
    Reset(link.server);
    link.dead = true;
  }

  const int target_port_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::string address_;
  std::list<Link> links_;  // of the thread
  std::atomic<Mode> mode_{Mode::kPass};
  std::atomic<std::int64_t> delay_ms_{0};
  std::atomic<bool> cut_{false};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::thread thread_;
};

}  // namespace

std::unique_ptr<FaultProxy> FaultProxy::Start(const std::string& target) {
  return std::make_unique<Proxy>(target);
}

}  // namespace bandana::testing
