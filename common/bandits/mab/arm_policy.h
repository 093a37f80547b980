// Bandits without contexts. Arms are positions 0 .. K - 1, and a policy is a function of sums over
// released rewards. Events leave the same state in whatever batches they were applied.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/limits.h"

namespace bandana {

// One arm was shown and the policy may use `reward` (for a private model the released value, which
// may lie outside the reward range).
struct ArmEvent {
  int arm = 0;
  double reward = 0;       // finite, |reward| <= kRewardAbsMax
  double probability = 1;  // that this arm had when it was drawn, (0, 1]: goes with the decision
};

// A policy's statistics of one arm.
struct ArmStatistics {
  double sum = 0;  // of rewards; the estimated cumulative loss for Tsallis-INF
  std::uint64_t events = 0;
  friend bool operator==(const ArmStatistics&, const ArmStatistics&) = default;
};

// The most arms a policy takes: every decision looks at each of them.
inline constexpr int kPolicyArmsMax = 100'000;

// Not thread-safe; const methods are safe together.
class ArmPolicy {
 public:
  virtual ~ArmPolicy() = default;

  int arms() const { return static_cast<int>(statistics_.size()); }
  std::uint64_t events() const { return events_; }
  // One per arm. The durable truth.
  std::span<const ArmStatistics> statistics() const { return statistics_; }

  // The law of the next arm: K probabilities that sum to 1. A pure function of the state.
  virtual void Probabilities(std::vector<double>& out) const = 0;

  // Adds one event. Errors: INVALID_ARGUMENT an arm that does not exist, a reward or probability
  // out of range; then nothing changed.
  absl::Status Apply(const ArmEvent& event);

  // Puts statistics in place of the present ones (recovery, import). Errors: INVALID_ARGUMENT their
  // number, a sum that is not finite; then nothing changed.
  absl::Status Restore(std::vector<ArmStatistics> statistics);

 protected:
  explicit ArmPolicy(int arms) : statistics_(arms) {}
  // Moves the sums by a valid event; counts follow by themselves.
  virtual void Update(const ArmEvent& event, std::vector<ArmStatistics>& statistics) const = 0;
  // After every change: for what a policy derives from its statistics.
  virtual void Refresh() {}

 private:
  std::vector<ArmStatistics> statistics_;
  std::uint64_t events_ = 0;
};

// Errors: INVALID_ARGUMENT unless arms in [1, kPolicyArmsMax].
absl::Status CheckArms(int arms);

}  // namespace bandana
