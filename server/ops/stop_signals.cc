#include "server/ops/stop_signals.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/base/check.h"
#include "common/base/clock.h"

namespace bandana::server {
namespace {

constexpr std::array kSignals = {SIGTERM, SIGINT, SIGHUP};

// Read end, write end. Set before the handlers, and never closed.
std::array<int, 2> pipe_ends = {-1, -1};

// A full pipe holds thousands of signals that nobody has looked at yet: one more says nothing new.
extern "C" void PassOn(int signal) {
  const int error = errno;
  const auto number = static_cast<unsigned char>(signal);
  [[maybe_unused]] const ssize_t written = ::write(pipe_ends[1], &number, 1);
  errno = error;
}

}  // namespace

StopSignals::StopSignals() {
  BANDANA_CHECK(pipe_ends[0] < 0);
  BANDANA_CHECK(::pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  sigset_t ours;
  sigemptyset(&ours);
  struct sigaction action {};
  action.sa_handler = PassOn;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) {
    sigaddset(&ours, signal);
    BANDANA_CHECK(::sigaction(signal, &action, nullptr) == 0);
  }
  BANDANA_CHECK(::pthread_sigmask(SIG_BLOCK, &ours, &mask_before_) == 0);
}

int StopSignals::Wait(absl::Duration timeout) {
  const absl::Time end = SteadyNow() + timeout;
  for (;;) {
    unsigned char number = 0;
    if (::read(pipe_ends[0], &number, 1) == 1) return number;
    const absl::Duration left = std::max(end - SteadyNow(), absl::ZeroDuration());
    const timespec time = absl::ToTimespec(left);
    pollfd readable{.fd = pipe_ends[0], .events = POLLIN, .revents = 0};
    // Signals that wait for this thread reach it here.
    const int ready = ::ppoll(&readable, 1, &time, &mask_before_);
    if (ready == 0 && left == absl::ZeroDuration()) return 0;
  }
}

void StopSignals::WaitForStop(absl::Duration timeout) {
  const absl::Time end = SteadyNow() + timeout;
  for (int signal = Wait(timeout); signal == SIGHUP;) signal = Wait(end - SteadyNow());
}

}  // namespace bandana::server
