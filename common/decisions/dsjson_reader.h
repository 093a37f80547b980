// A log in lines of Vowpal Wabbit's DSJSON, decision by decision: docs/formats/decisions.md,
// DSJSON.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/decisions/decision_stream.h"
#include "common/mechanisms/reward_range.h"

namespace bandana {

struct DsjsonOptions {
  RewardRange range;         // of -cost, where the line has no `bandana.range`
  bool chosen_only = false;  // take the chosen action's propensity, and no other's
};

// Reads lines of contextual bandits and, as lists, of conditional ones. An arm is named by its
// `_tag`; without one by its features, as JSON of at most 128 bytes or, where that is longer, by a
// hash. The context is the shared features. A line that says _skipLearn, one of slates, and one of
// a sample (pdrop) is told and passed over; so is a line whose `p` is not that of its label.
class DsjsonReader final : public DecisionStream {
 public:
  DsjsonReader(DecisionBytes bytes, const DsjsonOptions& options);
  ~DsjsonReader() override;

  absl::StatusOr<Next> Read(LoggedDecision& decision, DecisionFault& fault) override;
  std::uint64_t line() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bandana
