// The reward that a served policy brings, as its decisions close: beside a uniform choice, and
// beside the arm that callers list first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/time/time.h"
#include "common/decisions/joined_decision.h"
#include "common/decisions/segment.h"
#include "common/decisions/stored_decision.h"
#include "common/judging/judge.h"

namespace bandana {

// The mean reward of the policy, or (`against` not empty) its difference to that of another policy
// on the same decisions; reward units.
struct LiftValue {
  std::string_view against;  // "", "uniform" or "first"
  std::optional<double> value, low, high;
};

struct LiftPoint {
  std::uint64_t decisions = 0;  // judged so far
  absl::Time time;              // of the last one
  std::vector<LiftValue> values;
};

struct LiftReport {
  std::vector<LiftValue> values;  // of "", "uniform", "first"
  std::uint64_t judged = 0;       // decisions that the values are of
  std::uint64_t first = 0;        // decisions that chose the intervals' form, and are not in them
  std::uint64_t waiting = 0;      // for a reward, or for an older decision
  std::uint64_t left_out = 0;     // baselines, deferred ones, one arm on offer, no place to wait
  // Decisions until a lift of 10 % over uniform would be seen, if they are like those so far; 0:
  // the interval is as narrow already. Nothing: nobody can say yet.
  std::optional<std::uint64_t> needed;
  std::vector<LiftPoint> points;  // the oldest first, at most kPointsMax
  std::string problem;            // why the values say nothing; else empty
};

// Judges decisions in their order. A decision counts when its reward is known, or when none can
// come any more: then as `unreported`. Whoever waits for an older one waits by age alone, so early
// reports are no more likely to count. All intervals hold together with kConfidence, whenever one
// looks: docs/design/judging.md#a-monitor. Memory: at most kWaitingBytesMax of decisions that wait,
// without users, contexts and features; of others sums. A pure function of what it was told, in
// its order. Not thread-safe.
class LiftMonitor {
 public:
  static constexpr double kConfidence = 0.95;
  static constexpr std::uint64_t kPlanned = 10'000;  // decisions that the intervals are best at
  // That choose the intervals' form.
  static constexpr std::uint64_t kFirst = DesignDecisions(kPlanned);
  static constexpr std::size_t kPointsMax = 128;
  static constexpr std::uint64_t kPointEvery = 100;  // decisions between points, at first
  static constexpr std::size_t kWaitingBytesMax = std::size_t{32} << 20;
  static constexpr double kLiftSought = 0.1;  // of what uniform brings above the least reward

  // log(1/error) of one end of one interval.
  static double LogThreshold();

  // `facts` as of the model's decision log; not `clipped`. `unreported`: in the reward range.
  LiftMonitor(const SegmentHeader& facts, double unreported);

  // A decision that waits for its rewards.
  struct Waiting {
    std::string decision;  // encoded; empty: it is left out
    absl::Time time;
    std::vector<StoredId> slots;
    std::vector<DecisionOutcome> outcomes;  // of the slots
    std::size_t known = 0;                  // slots with a value
  };
  // `encoded`: EncodeDecision of it, from whoever has that; empty: from nobody. Threads: safe.
  // Cost: below 1 us for 25 arms.
  static Waiting Prepare(const StoredDecision& decision, std::string_view encoded = {});

  // A decision was answered with its tokens. It is left out where there is no place.
  void Add(Waiting waiting);
  // Rows of applied entries.
  void Rewarded(std::span<const RewardRow> rows);
  // Judges what is closed at this time of the model's clock. Cost: some us per decision.
  void Close(absl::Time now);

  LiftReport Report() const;

 private:
  struct Place {
    std::uint64_t number = 0;
    std::size_t slot = 0;
  };
  struct HashOfId {
    std::size_t operator()(const StoredId& id) const;
  };

  void TakeOut(const Waiting& first);
  void Take(const Waiting& waiting, absl::Time now);
  std::vector<LiftValue> Values() const;
  std::optional<std::uint64_t> Needed() const;
  void AddPoint(absl::Time time);

  const SegmentHeader facts_;
  Judge judge_;
  std::deque<Waiting> waiting_;
  std::uint64_t gone_ = 0;  // number of waiting_.front()
  std::unordered_map<StoredId, Place, HashOfId> places_;
  std::size_t bytes_ = 0;  // that wait
  StoredDecision stored_;  // buffers
  LoggedDecision logged_;
  std::uint64_t taken_ = 0;  // decisions that the judge has
  std::uint64_t left_out_ = 0;
  std::uint64_t point_every_ = kPointEvery;
  std::vector<LiftPoint> points_;
  std::string problem_;
};

}  // namespace bandana
