// The totals of a run: regret, rewards, errors, latencies. No I/O, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bandana/client.h"
#include "tools/fleet/histogram.h"

namespace bandana {

// Sums over the decisions counted so far, reward units.
struct CurvePoint {
  std::uint64_t decisions = 0;
  double regret = 0;         // sum of (best expected - expected of the arm shown): pseudo-regret
  double random_regret = 0;  // what a uniformly random policy expects on the same decisions
  double reward = 0;         // realised
  double random_reward = 0;  // expected of a uniformly random policy
};

// Threads: not thread-safe.
class Tally {
 public:
  // `rounds` decisions are to come; the curve gets about 200 points.
  explicit Tally(std::uint64_t rounds);

  // One decision was answered and its arm shown.
  void CountDecision(double best_expected, double mean_expected, double shown_expected,
                     double reward);
  void CountError(absl::StatusCode code) { ++errors_[code]; }
  // The server's answer held no legal choice.
  void CountInvalidAnswer() { ++invalid_answers_; }
  void CountDelivery(Delivery delivery);
  // A decision that was given up, before its arm was shown.
  void CountAbandoned() { ++abandoned_; }
  // The last point of a run that ended before its time.
  void CloseCurve();

  const CurvePoint& sums() const { return sums_; }
  const std::vector<CurvePoint>& curve() const { return curve_; }
  // Failed attempts by code, those that a later attempt made good included.
  const std::map<absl::StatusCode, std::uint64_t>& errors_by_code() const { return errors_; }
  std::uint64_t errors() const;
  std::uint64_t invalid_answers() const { return invalid_answers_; }
  std::uint64_t abandoned() const { return abandoned_; }
  // Each decision is reported once, so these count distinct decisions.
  std::uint64_t reports_acknowledged() const { return applied_ + duplicate_; }
  std::uint64_t reports_applied() const { return applied_; }
  std::uint64_t reports_duplicate() const { return duplicate_; }
  std::uint64_t reports_refused() const { return refused_; }

  LatencyHistogram select_latency;
  LatencyHistogram report_latency;
  LatencyHistogram send_lateness;  // open loop: start of a decision after its planned time

 private:
  std::uint64_t rounds_;
  CurvePoint sums_;
  std::vector<CurvePoint> curve_;
  std::map<absl::StatusCode, std::uint64_t> errors_;
  std::uint64_t invalid_answers_ = 0;
  std::uint64_t abandoned_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t duplicate_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace bandana
