// The way of calls from the device to the server: bytes there and bytes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/core/callback.h"

namespace bandana::device {

// Methods of bandana.v1.Recommender.
enum class Method : std::uint8_t {
  kGetModel,
  kSelect,
  kBatchSelect,
  kReport,
  kSubmit,
  kGetPosterior,
  kGetArmEffects,
  kActivate
};

struct Answer {
  absl::Status status;
  std::optional<absl::Duration> pushback;  // grpc-retry-pushback-ms of a failure
};

// `response` is the message's bytes, as a stranger may have sent them; empty unless the status is
// OK.
using OnAnswer = Callback<void(const Answer&, const std::string& response)>;

struct CallOptions {
  absl::Duration deadline;
  bool wait_for_ready = false;  // wait for the connection instead of failing UNAVAILABLE at once
};

// Every call is one attempt, and is answered once: by the server, or DEADLINE_EXCEEDED, UNAVAILABLE
// or CANCELLED by the host; perhaps before Make returns.
class Calls {
 public:
  virtual ~Calls() = default;
  virtual void Make(Method method, std::string request, const CallOptions& options,
                    OnAnswer done) = 0;
};

}  // namespace bandana::device
