// The mean reward of what a model has learnt since the start, where it may be told.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "bandana/v1/admin.pb.h"
#include "common/design/model_spec.h"
#include "common/model/entries/log_entry.h"

namespace bandana::server {

// Sums over decisions whose reward is in the statistics; reward units.
struct RewardSums {
  std::uint64_t count = 0;
  double min = 0;        // the least reward of the model
  double above_min = 0;  // sum of (reward - min); never falls where `noisy` is false
  double squares = 0;    // sum of (reward - min)^2
  bool noisy = false;    // values are released ones, each right on average
};

// Models without privacy, and those whose devices randomize each reward over its whole range. There
// a value is all that the device has let go, and their mean is post-processing. Values of centred
// windows are not right on average, and counters have none. Threads: all methods are safe.
class LearntRewards {
 public:
  // Null where the rewards of the model are not to be told, or its entries do not hold them as they
  // are.
  static std::unique_ptr<LearntRewards> Of(const ModelSpec& spec);
  LearntRewards(const RewardRange& range, int dimension, bool noisy);

  // An entry that is applied. Others than those of events change nothing.
  void Applied(const LogEntry& entry);
  RewardSums sums() const;

 private:
  const int dimension_;
  mutable std::mutex mutex_;
  RewardSums sums_;
};

// Mean, and its 95 % interval at one look where values are noisy and at least two. Requires a
// value.
void FillRewards(const RewardSums& sums, v1::RewardStats& out);

// How the decisions of a model without privacy were chosen, since the start. Threads: safe.
class ChoiceCounts {
 public:
  // `counts`: false in a private model, which counts nothing.
  explicit ChoiceCounts(bool counts) : counts_(counts) {}

  // A decision that is learnt from. `explored`: whether its first arm is another than the model
  // expected most of; nothing where nobody ranked all arms.
  void Decided(std::optional<bool> explored);
  // Nothing in a private model.
  std::optional<v1::ChoiceStats> Stats() const;

 private:
  const bool counts_;
  std::atomic<std::uint64_t> decisions_{0};
  std::atomic<std::uint64_t> ranked_{0};
  std::atomic<std::uint64_t> explored_{0};
};

}  // namespace bandana::server
