#include "server/service/connections/protocol_split.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"

namespace bandana::server {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr absl::Duration kLook = absl::Seconds(1);
constexpr std::size_t kHelloBytesMax = 5 + (1 << 14);  // a record of TLS

// How many bytes must be there before poll tells of them.
void SetLeast(int connection, int bytes) {
  ::setsockopt(connection, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

class Split final : public ProtocolSplit {
 public:
  Split(bool tls, Take http1, Take http2)
      : tls_(tls),
        http1_(std::move(http1)),
        http2_(std::move(http2)),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        thread_([this] { Run(); }) {}
  ~Split() override {
    Stop();
    ::close(wake_);
  }

  void Give(int listener, int connection) override {
    {
      const std::lock_guard lock(mutex_);
      if (!stopped_) {
        given_.push_back(
            {.listener = listener, .connection = connection, .until = SteadyNow() + kPatience});
        connection = -1;
      }
    }
    if (connection >= 0) ::close(connection);
    Wake();
  }

  void Stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    Wake();
    const std::lock_guard once(stop_mutex_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Waiting {
    int listener = -1;
    int connection = -1;
    absl::Time until;
  };

  void Wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  }

  // False: it is to end.
  bool TakeGiven() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t read = ::read(wake_, &count, sizeof count);
    const std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), given_.begin(), given_.end());
    given_.clear();
    return !stopped_;
  }

  void Run() {
    while (TakeGiven()) {
      std::vector<pollfd> polled = {{.fd = wake_, .events = POLLIN, .revents = 0}};
      for (const Waiting& one : waiting_) {
        polled.push_back({.fd = one.connection, .events = POLLIN, .revents = 0});
      }
      ::poll(polled.data(), polled.size(),
             waiting_.empty() ? -1 : static_cast<int>(absl::ToInt64Milliseconds(kLook)));
      const absl::Time now = SteadyNow();
      std::vector<Waiting> still;
      for (std::size_t i = 0; i < waiting_.size(); ++i) {
        const bool ready = polled[i + 1].revents != 0;
        if (ready && Sort(waiting_[i])) continue;
        if (waiting_[i].until <= now) {
          ::close(waiting_[i].connection);
        } else {
          still.push_back(waiting_[i]);
        }
      }
      waiting_ = std::move(still);
    }
    for (const Waiting& one : waiting_) ::close(one.connection);
    waiting_.clear();
  }

  // Whether it waits no longer.
  bool Sort(const Waiting& one) {
    std::string bytes(kHelloBytesMax, '\0');
    const ssize_t size =
        ::recv(one.connection, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (size <= 0) {
      ::close(one.connection);
      return true;
    }
    bytes.resize(static_cast<std::size_t>(size));
    const std::optional<WireProtocol> protocol = ProtocolOf(bytes, tls_);
    if (!protocol) {
      // Ended, or too long to be one record: nothing more will decide it.
      if (bytes.size() == kHelloBytesMax || !MayGrow(one.connection)) {
        ::close(one.connection);
        return true;
      }
      SetLeast(one.connection, static_cast<int>(size) + 1);
      return false;
    }
    SetLeast(one.connection, 1);
    (*protocol == WireProtocol::kHttp1 ? http1_ : http2_)(one.listener, one.connection);
    return true;
  }

  // Whether the peer may send more: poll also tells of its end, whatever SO_RCVLOWAT says.
  static bool MayGrow(int connection) {
    pollfd polled = {.fd = connection, .events = POLLRDHUP, .revents = 0};
    return ::poll(&polled, 1, 0) == 0;
  }

  const bool tls_;
  const Take http1_;
  const Take http2_;
  const int wake_;
  std::mutex mutex_;  // guards given_ and stopped_
  std::vector<Waiting> given_;
  bool stopped_ = false;
  std::mutex stop_mutex_;
  std::vector<Waiting> waiting_;  // of the thread
  std::thread thread_;            // last: it uses the others
};

}  // namespace

std::unique_ptr<ProtocolSplit> ProtocolSplit::Start(bool tls, Take http1, Take http2) {
  return std::make_unique<Split>(tls, std::move(http1), std::move(http2));
}

}  // namespace bandana::server
