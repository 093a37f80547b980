// The files of one model's decision log, as one thread writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/decisions/segment.h"
#include "server/decisions/append_file.h"
#include "server/decisions/decision_counts.h"

namespace bandana::server {

// Decisions give way: to the bounds of age and bytes, and to the disk. Rewards do not: where one
// cannot be written, the oldest decisions go until it can be, and in the end all of them. So no
// line is there or missing because of its reward. Not thread-safe.
class DecisionStore {
 public:
  struct Options {
    std::string folder;
    SegmentHeader facts;  // of the segments to come; kind, time and sequence are filled in
    absl::Duration keep;
    std::uint64_t bytes_max = 0;
    std::uint64_t segment_bytes = 0;  // of decisions; 0: by bytes_max
  };
  // Makes the folder, cuts off what a crash has left at the ends of the newest files, and finishes
  // an erasing that has begun. Errors: DATA_LOSS; RESOURCE_EXHAUSTED; UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<DecisionStore>> Open(Options options);

  // A line to be: an encoded StoredDecision, and whose it is.
  struct Line {
    std::string decision;
    UserPseudonym user{};
  };
  // Writes all of them or none; returns how many. Those that are too long are left out.
  std::size_t Append(std::span<const Line> lines, absl::Time now);
  // Rows in the order of their sequences, each at least last_sequence(). Errors: those for which
  // the whole log was given up, which may pass.
  absl::Status AppendRewards(std::span<const RewardRow> rows, absl::Time now);
  // All that was appended is durable on return. Errors: UNAVAILABLE.
  absl::Status Sync();

  // The sequence of the newest row, 0 where there is none.
  std::uint64_t last_sequence() const { return last_sequence_; }
  // Takes back the rewards from this sequence on: the model's log has gone back to before, or has
  // the entry still, of which perhaps not all rows were written. Errors: UNAVAILABLE.
  absl::Status TakeBackFrom(std::uint64_t sequence);

  // Removes all decisions: rewards of theirs are lost.
  void GiveUp() { GiveUpSince(absl::InfinitePast()); }
  // With all rewards.
  void RemoveAll();
  // Removes the segments that may have decisions at or after this time.
  void GiveUpSince(absl::Time time);
  // Removes what is too old, and the oldest of what is too much. `disk_full`: also one more.
  // Rewards go with the decisions before them.
  void Retain(absl::Time now, bool disk_full);
  // Lines of these users go, and their rewards: no byte of them is in a file on return. Errors:
  // UNAVAILABLE; then Open finishes it, or a repeat. Returns how many lines.
  absl::StatusOr<std::uint64_t> Erase(std::span<const UserPseudonym> users);

  // One file, or a pair of decisions and their users.
  struct Segment {
    std::uint64_t number = 0;
    absl::Time made;
    std::uint64_t lines = 0;  // or rows
    std::uint64_t bytes = 0;  // with those of the users
    std::uint64_t first_sequence = 0;
    absl::Time until = absl::InfiniteFuture();  // rewards: nothing was appended later
  };
  // Oldest first.
  std::span<const Segment> segments(SegmentKind kind) const {
    return kind == SegmentKind::kRewards ? rewards_ : decisions_;
  }

  struct Figures {
    std::uint64_t lines = 0;  // that are there, erased ones among them until their segment goes
    std::uint64_t bytes = 0;
    absl::Time oldest = absl::InfiniteFuture();  // the segment that the oldest line is in
  };
  Figures figures() const;
  DecisionCounts& counts() { return *counts_; }
  const std::string& folder() const { return options_.folder; }

 private:
  explicit DecisionStore(Options options) : options_(std::move(options)) {}
  absl::Status Recover();
  absl::Status RecoverDecisions(std::uint64_t number, bool newest);
  absl::Status RecoverRewards(std::uint64_t number);
  absl::Status FinishErasing();
  absl::Status RemoveDecisions(std::uint64_t number) const;
  absl::Status BeginDecisions(absl::Time now);
  void CloseDecisions() {
    decision_file_ = AppendFile();
    user_file_ = AppendFile();
  }
  absl::Status BeginRewards(std::uint64_t first_sequence, absl::Time now);
  absl::Status PutLines(std::span<const Line> lines, absl::Time now, std::size_t& written);
  absl::Status PutRows(std::span<const RewardRow> rows, absl::Time now);
  // The oldest segment of decisions, with the rewards that nobody needs any more. False: there is
  // none, or it cannot be removed.
  bool RemoveOldest();
  void RemoveUnneededRewards();
  bool RemoveOldestRewards();  // requires one; false: it cannot be removed
  // In decision_erasing.cc.
  absl::StatusOr<std::uint64_t> EraseNow(std::span<const UserPseudonym> users);
  std::string ErasingPath() const;
  std::string PathOf(SegmentKind kind, std::uint64_t number) const;

  const Options options_;
  std::unique_ptr<DecisionCounts> counts_;
  std::vector<Segment> decisions_;  // oldest first; the last one is written while decision_file_ is
  std::vector<Segment> rewards_;    // open, as is this one
  AppendFile decision_file_;
  AppendFile user_file_;
  AppendFile reward_file_;
  std::uint64_t last_sequence_ = 0;
  bool dirty_decisions_ = false;
  bool dirty_rewards_ = false;
  bool deferred_is_durable_ = false;
};

}  // namespace bandana::server
