#include "absl/strings/str_cat.h"
#include "common/bandits/mab/arm_event.h"
#include "common/base/status.h"
#include "common/design/families/drawn.h"
#include "common/design/families/families.h"

namespace bandana {
namespace {

class Arms final : public DrawnFamily {
 public:
  std::string_view name() const override { return "arms"; }
  Choice choice() const override { return Choice::kDraw; }
  Scope scope() const override {
    return {.plural = "models of arms",
            .modes = {Mode::kNonPrivate, Mode::kLocalReward},
            .keeps = "their policies are proven for counts of all events",
            .own_choice = "their own policy draws the arm, and learns from its probability"};
  }
  void Check(const ModelSpec& spec, const FieldChecks& checks) const override {
    if (spec.public_spec.feature_l2_max == 1) return;
    checks.Add("feature_l2_max", "must be 1 for models of arms, which are unit vectors");
  }
  // The reward, or for Tsallis-INF (r - c) / p, c the middle of the reward range and p the
  // probability that the arm was drawn with: minus its sum is the estimated cumulative loss.
  double EventReward(const ModelSpec& spec, double reward, double probability) const override {
    if (!centres_shares(spec)) return reward;
    return (reward - spec.public_spec.reward_range.middle()) / probability;
  }
  bool centres_shares(const ModelSpec& spec) const override {
    return spec.arms->policy == v1::ArmsFamily::TSALLIS_INF;
  }
  bool has_unit_arms() const override { return true; }
  absl::Status CheckArm(std::span<const double> features) const override {
    return ArmOf(features) < 0 ? InvalidArgument("features must be a unit vector")
                               : absl::OkStatus();
  }

 protected:
  bool FitsEvent(std::span<const double> features) const override { return ArmOf(features) >= 0; }
};

}  // namespace

const Family& ArmsFamily() {
  static const auto& family = *new Arms();
  return family;
}

void ParseArmsFamily(const v1::ModelConfig& config, const FileSource&, ModelSpec& spec,
                     const FieldChecks& checks) {
  const v1::ArmsFamily& arms = config.arms();
  ArmsSpec& out = spec.arms.emplace();
  if (arms.policy() != v1::ArmsFamily::POLICY_UNSPECIFIED) out.policy = arms.policy();
  if (out.policy < v1::ArmsFamily::TSALLIS_INF || out.policy > v1::ArmsFamily::LIL_UCB) {
    checks.Add("policy", absl::StrCat("must be TSALLIS_INF, KL_UCB or LIL_UCB, got ",
                                      static_cast<int>(out.policy)));
  }
  if (arms.failure_probability() != 0) {
    out.failure_probability = checks.OpenUnit("failure_probability", arms.failure_probability());
  }
}

std::string ArmsWords(const ModelSpec& spec) {
  return absl::StrCat(spec.public_spec.dimension, " arms without features, ",
                      v1::ArmsFamily::Policy_Name(spec.arms->policy));
}

}  // namespace bandana
