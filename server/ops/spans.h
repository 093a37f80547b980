// Calls that their callers trace, as OTLP has them: https://opentelemetry.io/docs/specs/otlp/,
// JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "server/service/transport/call_log.h"

namespace bandana::server {

// A call that is over.
struct CallSpan {
  CallRecord record;
  std::string id;  // 16 hexadecimal digits, drawn here
  absl::Time end;
};

// The body of a POST to /v1/traces: what a CallRecord holds, and nothing else. A span is of kind
// SERVER, and is in error where the server is at fault.
std::string OtlpJson(std::span<const CallSpan> spans);

// Spans that wait for the collector, at most kSpansMax: more are dropped and counted. Threads: all
// methods are safe; Write waits for nobody but other writers.
class SpanQueue final : public CallLog {
 public:
  static constexpr std::size_t kSpansMax = 4096;

  // `clock` must outlive it.
  explicit SpanQueue(const Clock& clock) : clock_(clock) {}

  void Write(const CallRecord& record) override;
  // The oldest, at most so many.
  std::vector<CallSpan> Take(std::size_t most);
  void Sent(std::uint64_t spans);
  void Dropped(std::uint64_t spans);

  struct Figures {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
  };
  Figures figures() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<CallSpan> waiting_;
  Figures figures_;
};

}  // namespace bandana::server
