#include "common/design/mechanisms/joint_counter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/counter_options.h"
#include "common/design/user_nodes.h"

namespace bandana {
namespace {

class Joint final : public Mechanism {
 public:
  Joint(const MechanismRow& row, v1::Mode mode, JointCounter part)
      : Mechanism(row, mode), part_(std::move(part)) {}

  std::optional<PrivacyCost> cost() const override { return part_.cost(); }
  const JointCounter* joint() const override { return &part_; }
  // The noise is that of features scaled to 1, so the design does not say how they were scaled.
  std::vector<std::pair<std::string, std::string>> IdentityFields(
      const ModelSpec& spec) const override {
    return {{"counter", CounterIdentity(spec.public_spec, part_.design())},
            {"feature_l2_max", absl::StrFormat("%.17g", spec.public_spec.feature_l2_max)}};
  }
  std::string Describe(const ModelSpec& spec) const override {
    return DescribeCounter(
        spec.public_spec, part_.design(),
        absl::StrCat(ToAbsl(UserNodesOf(spec).whose()), "by the server, of contexts and rewards"),
        "entry of x x' and r x, scaled to 1,");
  }

 private:
  const JointCounter part_;
};

}  // namespace

MadeMechanism MakeJoint(const MechanismRow& row, const PublicSpec& spec) {
  if (spec.counter->kind != v1::EPOCHS && spec.counter->kind != v1::BLT) {
    return InvalidArgument("kind must be EPOCHS or BLT in mode JOINT, got ",
                           v1::CounterKind_Name(spec.counter->kind));
  }
  BANDANA_ASSIGN_OR_RETURN(JointCounter counter,
                           JointCounter::Create({.dimension = spec.dimension,
                                                 .context_l2_max = spec.feature_l2_max,
                                                 .reward_abs_max = spec.reward_range.abs_max(),
                                                 .epsilon = spec.epsilon,
                                                 .delta = spec.delta,
                                                 .kind = FromProto(spec.counter->kind),
                                                 .horizon = spec.counter->horizon,
                                                 .step_cap = spec.counter->steps_max}));
  return std::make_shared<Joint>(row, spec.mode, std::move(counter));
}

}  // namespace bandana
