#include "common/design/mechanisms/shaped_counter.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/bandits/noise_shape.h"
#include "common/base/status.h"
#include "common/design/counter_words.h"
#include "common/design/coupling_message.h"
#include "common/promise/counter_options.h"

namespace bandana {
namespace {

using Root = absl::StatusOr<std::vector<double>>;

class Shaped final : public ServerMechanism {
 public:
  explicit Shaped(ShapedCounter part) : part_(std::move(part)) {}

  const ShapedCounter* shaped() const override { return &part_; }
  // The shape follows from the graph and is fixed with it.
  Fields IdentityFields(const ModelSpec& spec) const override {
    return {{"counter", CounterIdentity(spec.public_spec, part_.design)},
            {"shaped_graph", GraphDigest(spec.config)}};
  }
  std::string Describe(const ModelSpec& spec) const override {
    return DescribeCounter(spec.public_spec, part_.design, "over all users by the server",
                           "moment");
  }

 private:
  const ShapedCounter part_;
};

Root FoundRoot(const CouplingComponent& component) {
  const auto n = static_cast<int>(component.nodes.size());
  BANDANA_ASSIGN_OR_RETURN(NoiseShape shape, ShapeNoise(component.prior, n));
  return std::move(shape.root);
}

// 1 1' / n.
Root PooledRoot(const CouplingComponent& component) {
  const std::size_t n = component.nodes.size();
  return std::vector<double>(n * n, 1 / std::sqrt(static_cast<double>(n)));
}

MadeServerMechanism MakeShaped(const ModelSpec& spec, Root (*root)(const CouplingComponent&)) {
  const PublicSpec& p = spec.public_spec;
  BANDANA_ASSIGN_OR_RETURN(
      CounterDesign design,
      RewardCounterDesign(p, static_cast<std::size_t>(p.dimension) * spec.coupling.nodes()));
  return std::make_shared<Shaped>(
      ShapedCounter{.design = std::move(design), .centre = p.reward_range.middle(), .root = root});
}

}  // namespace

void CheckShapedModel(const ModelSpec& spec, const FieldChecks& checks) {
  const std::string name = MechanismName(spec.public_spec.mechanism);
  if (GraphOf(spec.config) == nullptr) {
    checks.Add("privacy.mechanism", absl::StrCat(name, " is for colin and goblin models"));
    return;
  }
  const int nodes = spec.coupling.nodes();
  const int rows = nodes * spec.public_spec.dimension;
  if (nodes > kShapedNodesMax || rows > kShapedRowsMax) {
    checks.Add("privacy.mechanism", absl::StrCat(name, " needs at most ", kShapedNodesMax,
                                                 " nodes and nodes x dimension <= ", kShapedRowsMax,
                                                 ", got ", nodes, " and ", rows));
  }
  if (spec.bandit.exploration.kind != ExplorationRule::Kind::kConstant) {
    checks.Add("exploration", absl::StrCat("must be a constant alpha with ", name));
  }
}

MadeServerMechanism MakeShapedCounter(const ModelSpec& spec) { return MakeShaped(spec, FoundRoot); }

MadeServerMechanism MakePooledCounter(const ModelSpec& spec) {
  return MakeShaped(spec, PooledRoot);
}

}  // namespace bandana
