// Predictions for logs that have none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "common/decisions/logged_decision.h"
#include "common/judging/moments.h"

namespace bandana {

// The mean reward of each arm over the decisions before, drawn to the mean of all: ridge regression
// on the arm alone, with a ridge of one decision. Made of earlier decisions, so predictable.
// Memory: a few numbers per arm, of kArmsMax arms; others get the mean of all. Not thread-safe.
class ArmMeans {
 public:
  static constexpr std::size_t kArmsMax = 1 << 16;

  double Predict(const LoggedSlot& slot, std::size_t arm) const {
    const double all = all_.count() > 0 ? all_.mean() : 0.5;
    const auto found = arms_.find(KeyOf(slot, arm));
    if (found == arms_.end()) return all;
    const auto count = static_cast<double>(found->second.count());
    return (count * found->second.mean() + all) / (count + 1);
  }
  // Learns the reward of the chosen arm. `y01` in [0, 1].
  void Add(const LoggedSlot& slot, double y01) {
    all_.Add(y01);
    const std::uint64_t key = KeyOf(slot, slot.chosen);
    if (arms_.size() < kArmsMax || arms_.contains(key)) arms_[key].Add(y01);
  }

 private:
  static std::uint64_t KeyOf(const LoggedSlot& slot, std::size_t arm) {
    if (!slot.names.empty()) return std::hash<std::string>()(slot.names[arm]);
    return slot.ids.empty() ? arm : slot.ids[arm];
  }
  Moments all_;
  std::unordered_map<std::uint64_t, Moments> arms_;
};

}  // namespace bandana
