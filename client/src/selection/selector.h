// Selections: on the server, with retries inside one deadline, and on the device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "bandana/v1/recommender.pb.h"
#include "client/core/backoff.h"
#include "client/src/base/scheduler.h"
#include "client/src/base/transport.h"
#include "common/features/value_log.h"
#include "common/mechanisms/reward_range.h"

namespace bandana::device {

// The result of a selection before it has a handle.
struct Ranking {
  std::vector<RankedArm> arms;  // best first, 1 to top_k; none of a point
  std::vector<double> point;    // d, or none
  std::uint64_t posterior_version = 0;
  std::string token;                     // of the server's Select; none with slots
  std::vector<std::string> slot_tokens;  // with slots, one per ranked arm
  std::string features;                  // of every ranked arm, of a selection on the device
  std::string windows;                   // as Handle::windows
  std::vector<std::string> notes;
  FieldCount count;  // of values that were encoded here
};

// Errors: INVALID_ARGUMENT user, ranks, shape. Texts give shapes only.
absl::StatusOr<v1::SelectRequest> MakeSelectRequest(const std::string& model, int dimension,
                                                    std::string_view user, const Arms& arms,
                                                    const Ranks& ranks);

// As above for `slots` arms that are shown at once, each a decision of its own.
absl::StatusOr<v1::SelectRequest> MakeSlotsRequest(const std::string& model, int dimension,
                                                   std::string_view user, const Arms& arms,
                                                   int slots);

// The request for a point has no arms. Errors: INVALID_ARGUMENT user.
absl::StatusOr<v1::SelectRequest> MakePointRequest(const std::string& model, std::string_view user);

// The answer to a request without arms is a point; to another, arms of it. `range`: of a centred
// model's rewards; each ranked arm then has a window inside it. Errors:
// INTERNAL an answer that does not fit the request.
absl::StatusOr<Ranking> ParseSelectResponse(const v1::SelectRequest& request, int dimension,
                                            const std::optional<RewardRange>& range,
                                            v1::SelectResponse& response);

// Threads: safe.
class Selector {
 public:
  struct Options {
    int dimension = 0;
    std::optional<RewardRange> range;  // with mechanism CENTRED_RANDOMIZER
    absl::Duration deadline;           // of a selection, retries included
    BackoffOptions backoff;
  };
  Selector(const Options& options, Transport* transport, Scheduler* scheduler)
      : options_(options), transport_(transport), scheduler_(scheduler) {}

  // Tries again after UNAVAILABLE, and after RESOURCE_EXHAUSTED with a pushback, while the deadline
  // leaves time for it; then answers the last error.
  void Select(v1::SelectRequest request, std::function<void(absl::StatusOr<Ranking>)> done);

 private:
  struct Attempt;
  void Start(const std::shared_ptr<Attempt>& attempt);

  const Options options_;
  Transport* const transport_;
  Scheduler* const scheduler_;
};

}  // namespace bandana::device
