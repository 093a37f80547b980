// Selections: on the server, with retries inside one deadline, and on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "client/core/backoff.h"
#include "client/core/callback.h"
#include "client/core/calls.h"
#include "client/core/selection/select_message.h"
#include "client/core/timers.h"
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

// The answer to a request without arms is a point; to another, arms of it. `range`: of a centred
// model's rewards; each ranked arm then has a window inside it. Errors:
// INTERNAL an answer that does not fit the request.
absl::StatusOr<Ranking> ParseSelectResponse(const SelectRequest& request, int dimension,
                                            const std::optional<RewardRange>& range,
                                            SelectResponse response);

class Selector {
 public:
  struct Options {
    int dimension = 0;
    std::string policy_hash;
    std::optional<RewardRange> range;  // with mechanism CENTRED_RANDOMIZER
    absl::Duration deadline;           // of a selection, retries included
    BackoffOptions backoff;
  };
  Selector(const Options& options, Calls* calls, Timers* timers)
      : options_(options), calls_(calls), timers_(timers) {}

  // Tries again after UNAVAILABLE, and after RESOURCE_EXHAUSTED with a pushback, while the deadline
  // leaves time for it; then answers the last error.
  void Select(SelectRequest request, Callback<void(absl::StatusOr<Ranking>)> done);

 private:
  struct Attempt;
  void Start(const std::shared_ptr<Attempt>& attempt);
  void OnAnswer(const std::shared_ptr<Attempt>& attempt, const Answer& answer,
                const std::string& bytes);

  const Options options_;
  Calls* const calls_;
  Timers* const timers_;
};

}  // namespace bandana::device
