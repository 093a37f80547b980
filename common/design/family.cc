#include "common/design/family.h"

#include "common/bandits/bco/play_factor.h"
#include "common/bandits/mab/arm_event.h"
#include "common/base/status.h"

namespace bandana {

bool Family::FitsToken(std::size_t, double, std::span<const double>) const { return true; }
double Family::EventReward(const ModelSpec&, double reward, double) const { return reward; }
absl::Status Family::CheckArm(std::span<const double>) const { return absl::OkStatus(); }
absl::Status Family::CheckCatalogue(const ModelSpec&) const { return absl::OkStatus(); }
absl::Status Family::CheckRankedByDevices(const ModelSpec&) const { return absl::OkStatus(); }

namespace {

class LinearFamily final : public Family {
 public:
  std::string_view name() const override { return "linear"; }
};

class SparseFamily final : public Family {
 public:
  std::string_view name() const override { return "sparse"; }
  absl::Status CheckRankedByDevices(const ModelSpec&) const override {
    return FailedPrecondition(
        "model is sparse: its estimate has no covariance; the server ranks arms, by Select");
  }
};

// One arm or play per token, drawn with the probability that the token says.
class DrawnFamily : public Family {
 public:
  bool FitsToken(std::size_t arms, double probability,
                 std::span<const double> features) const override {
    return arms == 1 && probability >= kArmProbabilityMin && FitsEvent(features);
  }
  absl::Status CheckRankedByDevices(const ModelSpec& spec) const override {
    return FailedPrecondition("model ", spec.public_spec.name, " is of ", ToAbsl(name()),
                              ": Select draws them, there is no posterior to rank by");
  }

 protected:
  virtual bool FitsEvent(std::span<const double> features) const = 0;
};

class ArmsFamily final : public DrawnFamily {
 public:
  std::string_view name() const override { return "arms"; }
  Choice choice() const override { return Choice::kDraw; }
  // The reward, or for Tsallis-INF (r - c) / p, c the middle of the reward range and p the
  // probability that the arm was drawn with: minus its sum is the estimated cumulative loss.
  double EventReward(const ModelSpec& spec, double reward, double probability) const override {
    if (spec.arms->policy != v1::ArmsFamily::TSALLIS_INF) return reward;
    const RewardRange& range = spec.public_spec.reward_range;
    return (reward - (range.min / 2 + range.max / 2)) / probability;
  }
  bool has_unit_arms() const override { return true; }
  absl::Status CheckArm(std::span<const double> features) const override {
    return ArmOf(features) < 0 ? InvalidArgument("features must be a unit vector")
                               : absl::OkStatus();
  }

 protected:
  bool FitsEvent(std::span<const double> features) const override { return ArmOf(features) >= 0; }
};

class PointsFamily final : public DrawnFamily {
 public:
  std::string_view name() const override { return "points"; }
  Choice choice() const override { return Choice::kPoint; }
  double EventReward(const ModelSpec& spec, double reward, double) const override {
    return reward - spec.public_spec.reward_range.middle();
  }
  absl::Status CheckCatalogue(const ModelSpec& spec) const override {
    return FailedPrecondition("model ", spec.public_spec.name,
                              " is of points: it has no catalogue");
  }

 protected:
  bool FitsEvent(std::span<const double> features) const override { return IsPlayFactor(features); }
};

}  // namespace

const Family& FamilyOf(const ModelSpec& spec) {
  static const auto& linear = *new LinearFamily();
  static const auto& sparse = *new SparseFamily();
  static const auto& arms = *new ArmsFamily();
  static const auto& points = *new PointsFamily();
  if (spec.arms) return arms;
  if (spec.points) return points;
  return spec.sparse ? static_cast<const Family&>(sparse) : linear;
}

}  // namespace bandana
