#include "common/design/mechanisms/joint_counter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/counter_words.h"
#include "common/design/user_nodes.h"
#include "common/promise/counter_options.h"

namespace bandana {
namespace {

class Joint final : public ServerMechanism {
 public:
  explicit Joint(JointCounter part) : part_(std::move(part)) {}

  const JointCounter* joint() const override { return &part_; }
  // The noise is that of features scaled to 1, so the design does not say how they were scaled.
  Fields IdentityFields(const ModelSpec& spec) const override {
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

MadeServerMechanism MakeJoint(const ModelSpec& model) {
  const PublicSpec& spec = model.public_spec;
  if (spec.counter->kind != CounterKind::kEpochs && spec.counter->kind != CounterKind::kBlt) {
    return InvalidArgument("kind must be EPOCHS or BLT in mode JOINT, got ",
                           ServedName(spec.counter->kind));
  }
  BANDANA_ASSIGN_OR_RETURN(JointCounter counter,
                           JointCounter::Create({.dimension = spec.dimension,
                                                 .context_l2_max = spec.feature_l2_max,
                                                 .reward_abs_max = spec.reward_range.abs_max(),
                                                 .epsilon = spec.epsilon,
                                                 .delta = spec.delta,
                                                 .kind = spec.counter->kind,
                                                 .horizon = spec.counter->horizon,
                                                 .step_cap = spec.counter->steps_max}));
  return std::make_shared<Joint>(std::move(counter));
}

}  // namespace bandana
