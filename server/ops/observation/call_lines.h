// Lines about calls in the server's log.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "server/service/transport/call_log.h"

namespace bandana::server {

// Lines per second about calls that failed, at most.
inline constexpr int kServerFaultLinesMax = 20;
inline constexpr int kCallerFaultLinesMax = 5;

// `caller=app method=Select code=INTERNAL ms=1.250 request_id=... trace_id=...`: words without
// spaces, empty ones left out. server/service/transport/call_log.h lists what may be in it.
std::string CallLine(const CallRecord& record);

// Takes a line of a time; `warn`: somebody has to look at it.
using SayLine = std::function<void(absl::Time time, bool warn, const std::string& text)>;
// Into the server's log.
void LogLine(absl::Time time, bool warn, const std::string& text);

// Threads: all methods are safe. Calls of Admin are written at once; others are kept for Flush, so
// that the threads that answer calls never wait for whoever reads the log.
class CallLines final : public CallLog {
 public:
  // `clock` must outlive it.
  explicit CallLines(const Clock& clock, SayLine say = LogLine)
      : clock_(clock), say_(std::move(say)) {}

  void Write(const CallRecord& record) override;
  // To be called about once per second.
  void Flush();
  // Lines that were left out, so far.
  std::uint64_t dropped() const;

 private:
  struct Line {
    absl::Time time;
    bool server_fault;
    std::string text;
  };

  const Clock& clock_;
  const SayLine say_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Line> lines_;
  std::array<int, 2> room_ = {kCallerFaultLinesMax, kServerFaultLinesMax};
  std::uint64_t dropped_ = 0;
  std::uint64_t dropped_told_ = 0;
};

}  // namespace bandana::server
