#include "common/judging/simple_policies.h"

#include <algorithm>
#include <limits>

#include "common/base/exact_number.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// The arms of an earlier slot are not on offer, whether the line lists them or not.
std::size_t Left(const SlotView& view) {
  const auto taken =
      static_cast<std::size_t>(std::count(view.taken.begin(), view.taken.end(), std::uint8_t{1}));
  return view.slot().offered - taken;
}

class UniformPolicy : public JudgedPolicy {
 public:
  UniformPolicy() : JudgedPolicy("uniform") {}
  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    const double chance = 1 / static_cast<double>(Left(view));
    law.assign(view.slot().arms(), chance);
    for (std::size_t arm = 0; arm < view.taken.size(); ++arm) {
      if (view.is_taken(arm)) law[arm] = 0;
    }
    return true;
  }
  absl::StatusOr<bool> Chance(const SlotView& view, double& chance) override {
    chance = 1 / static_cast<double>(Left(view));
    return true;
  }
};

class LoggingPolicy : public JudgedPolicy {
 public:
  LoggingPolicy() : JudgedPolicy("logging") {}
  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    law = view.slot().p;
    return true;
  }
  absl::StatusOr<bool> Chance(const SlotView& view, double& chance) override {
    chance = view.slot().chosen_p;
    return true;
  }
};

class GreedyPolicy : public JudgedPolicy {
 public:
  GreedyPolicy() : JudgedPolicy("greedy") {}
  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    const LoggedSlot& slot = view.slot();
    if (slot.q.empty()) {
      return FailedPrecondition("greedy: needs the predictions of all arms, q, and decision ",
                                view.decision->id, " has none");
    }
    if (slot.cut()) return false;
    double best = -std::numeric_limits<double>::infinity();
    std::size_t count = 0;
    for (std::size_t arm = 0; arm < slot.q.size(); ++arm) {
      if (view.is_taken(arm) || slot.q[arm] < best) continue;
      count = slot.q[arm] > best ? 1 : count + 1;
      best = slot.q[arm];
    }
    law.assign(slot.q.size(), 0);
    for (std::size_t arm = 0; arm < slot.q.size(); ++arm) {
      if (!view.is_taken(arm) && slot.q[arm] == best) law[arm] = 1 / static_cast<double>(count);
    }
    return true;
  }
};

class FirstPolicy : public JudgedPolicy {
 public:
  FirstPolicy() : JudgedPolicy("first") {}
  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    if (view.slot().cut()) return false;
    law.assign(view.slot().arms(), 0);
    law[First(view)] = 1;
    return true;
  }
  absl::StatusOr<bool> Chance(const SlotView& view, double& chance) override {
    if (view.slot().cut()) return false;
    chance = view.slot().chosen == First(view) ? 1 : 0;
    return true;
  }

 private:
  static std::size_t First(const SlotView& view) {
    std::size_t arm = 0;
    while (view.is_taken(arm) && arm + 1 < view.slot().arms()) ++arm;
    return arm;
  }
};

class ConstantPolicy : public JudgedPolicy {
 public:
  explicit ConstantPolicy(std::string_view arm)
      : JudgedPolicy(absl::StrCat("constant:", ToAbsl(arm))),
        arm_(arm),
        id_(ReadWholeNumber(arm, std::numeric_limits<std::uint32_t>::max())) {}

  absl::Status EndOfLog() const override {
    if (offered_) return absl::OkStatus();
    return FailedPrecondition(name(), ": the arm was never on offer");
  }
  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    const LoggedSlot& slot = view.slot();
    if (view.decision->slots.size() > 1) {
      return FailedPrecondition(name(), ": decision ", view.decision->id, " is a list of ",
                                view.decision->slots.size(),
                                " slots; table:FILE says what stands in which");
    }
    if (slot.cut()) return false;
    law.assign(slot.arms(), 0);
    double copies = 0;
    for (std::size_t arm = 0; arm < law.size(); ++arm) {
      if (Is(slot, arm)) law[arm] = ++copies;
    }
    if (copies == 0) return false;
    offered_ = true;
    for (double& chance : law) chance = chance > 0 ? 1 / copies : 0;
    return true;
  }

 private:
  bool Is(const LoggedSlot& slot, std::size_t arm) const {
    if (!slot.names.empty()) return slot.names[arm] == arm_;
    return id_.has_value() && (slot.ids.empty() ? arm : slot.ids[arm]) == *id_;
  }

  const std::string arm_;
  const std::optional<std::uint64_t> id_;
  bool offered_ = false;
};

}  // namespace

std::unique_ptr<JudgedPolicy> MakeUniformPolicy() { return std::make_unique<UniformPolicy>(); }
std::unique_ptr<JudgedPolicy> MakeLoggingPolicy() { return std::make_unique<LoggingPolicy>(); }
std::unique_ptr<JudgedPolicy> MakeGreedyPolicy() { return std::make_unique<GreedyPolicy>(); }
std::unique_ptr<JudgedPolicy> MakeFirstPolicy() { return std::make_unique<FirstPolicy>(); }
std::unique_ptr<JudgedPolicy> MakeConstantPolicy(std::string_view arm) {
  return std::make_unique<ConstantPolicy>(arm);
}

std::string ArmText(const LoggedSlot& slot, std::size_t position) {
  if (!slot.names.empty()) return slot.names[position];
  return absl::StrCat(slot.ids.empty() ? position : slot.ids[position]);
}

}  // namespace bandana
