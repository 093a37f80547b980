// The first look at a log: which decisions count, and on which scale.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/decisions/decision_fault.h"
#include "common/decisions/logged_decision.h"
#include "common/judging/judged_unit.h"

namespace bandana {

struct SurveyOptions {
  // Counts as the reward of a decision that no report came for, reward units. Without it a log that
  // has such decisions cannot be judged: who reports depends on the reaction.
  std::optional<double> unreported;
  bool clipped = false;  // the value of clipped rewards is asked for by name
};

// A log is looked at once more before it is judged, all of its decisions in the same order: Look
// for each, then EndLook, so that the number that is used is known before the first estimate; then
// Reason for each. Memory: 8 bytes per decision. Not thread-safe.
//
// Left out, with a reason: decisions that CheckDecision refuses, repeated ids, those with one arm
// on offer, and all from the first open one on: of later ones only the early reports are known, and
// who reports early is not like the others.
class Survey {
 public:
  explicit Survey(SurveyOptions options) : options_(options) {}

  // `line`: for messages, with the file's name if there are several. Returns why the decision is
  // left out for itself; empty: it is not.
  std::string_view Look(const LoggedDecision& decision, std::string_view line);
  // FAILED_PRECONDITION: the log cannot be judged: it mixes instances, epochs, or raw and released
  // rewards; has unreported decisions, or clipped rewards, that nobody asked for; has a report that
  // named the rank of a ranking. The message names the line.
  absl::Status EndLook();

  // Whether decisions are left out for others' sake, so that those that are used must be counted by
  // another round of Reason. After EndLook.
  bool must_count() const { return first_open_.has_value() || !twice_.empty(); }
  // Empty: the decision is used. Call it once per decision, in order, and StartAgain before
  // each round.
  std::string_view Reason(const LoggedDecision& decision);
  void StartAgain() { seen_.clear(); }

  // The log that was looked at.
  RewardScale scale() const { return scale_; }
  RewardRange range() const { return range_; }
  // "raw", "released" or "clipped".
  std::string_view reward() const;
  std::optional<double> epsilon() const { return epsilon_; }  // if one and the same
  bool has_predictions() const { return predictions_; }
  bool has_lists() const { return lists_; }
  // The first and the last time of all decisions that were looked at.
  std::optional<absl::Time> from() const { return from_; }
  std::optional<absl::Time> to() const { return to_; }
  const std::string& instance() const { return instance_; }
  std::optional<double> unreported() const { return options_.unreported; }

 private:
  static std::uint64_t HashOf(const LoggedDecision& decision);
  std::string_view ReasonOfItself(const LoggedDecision& decision) const;
  void LookAtRewards(const LoggedDecision& decision, std::string_view line);
  void LookAtTime(const LoggedDecision& decision, std::string_view line);
  void Stop(std::string_view line, std::string_view why);
  bool Repeated(const LoggedDecision& decision);

  const SurveyOptions options_;
  bool any_ = false;
  std::string stop_;  // why the log cannot be judged
  std::string instance_;
  std::uint64_t epoch_ = 0;
  bool predictions_ = false, lists_ = false;
  bool raw_ = false, released_ = false, clipped_ = false;
  std::optional<double> epsilon_;
  bool epsilons_differ_ = false;
  RewardScale scale_;
  RewardRange range_;
  std::optional<absl::Time> from_, to_, first_open_;
  std::uint64_t unreported_count_ = 0;
  std::string unreported_line_;
  // Hashes of ids by their first byte, so that no vector is moved as a whole.
  std::array<std::vector<std::uint64_t>, 256> hashes_;
  std::unordered_map<std::uint64_t, std::vector<std::string>> seen_;
  std::vector<std::uint64_t> twice_;  // hashes that came more than once, sorted
};

}  // namespace bandana
