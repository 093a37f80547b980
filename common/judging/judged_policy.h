// A policy that is judged by a log of another one's decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/decisions/logged_decision.h"

namespace bandana {

// One slot of a logged list, given what stands in the slots before.
struct SlotView {
  const LoggedDecision* decision = nullptr;
  std::size_t at = 0;
  // By position: 1 where the slot's arm stands in an earlier slot. Empty in the first slot.
  std::vector<std::uint8_t> taken;

  const LoggedSlot& slot() const { return decision->slots[at]; }
  bool is_taken(std::size_t position) const {
    return position < taken.size() && taken[position] != 0;
  }
};

// Decisions come in the order of the log. Not thread-safe.
class JudgedPolicy {
 public:
  explicit JudgedPolicy(std::string name) : name_(std::move(name)) {}
  virtual ~JudgedPolicy() = default;
  JudgedPolicy(const JudgedPolicy&) = delete;
  JudgedPolicy& operator=(const JudgedPolicy&) = delete;

  const std::string& name() const { return name_; }  // as it was asked for

  // Fills `law` with the probability of each arm of the line, n = slot.arms() of them, n > 0.
  // False: the policy chooses nothing here, and the decision is left out of its rows. It must
  // follow from what was known before the draw: arms, contexts, predictions, earlier decisions; of
  // a slot that is cut() not from the arms that stand there. In a later slot of a list, where it
  // would follow from the draws before, the policy then cannot be judged. Slots behind one that the
  // policy cannot have filled so are not asked about.
  // Errors: FAILED_PRECONDITION the log has not what the policy needs.
  virtual absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) = 0;

  // The probability of the chosen arm alone, for lines whose other arms have no propensity. By
  // default as Law says.
  virtual absl::StatusOr<bool> Chance(const SlotView& view, double& chance);

  // After the decision was judged, with its rewards: policies that learn.
  virtual absl::Status Learn(const LoggedDecision&) { return absl::OkStatus(); }

  // For people who read its rows, what it says of the log so far; empty: nothing.
  virtual std::string Note() const { return ""; }

  // After the last decision. Errors: FAILED_PRECONDITION what was asked for does not fit the log.
  virtual absl::Status EndOfLog() const { return absl::OkStatus(); }

 private:
  const std::string name_;
};

}  // namespace bandana
