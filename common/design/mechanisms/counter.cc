#include "common/design/mechanisms/counter.h"

#include "common/base/status.h"
#include "common/design/counter_options.h"

namespace bandana {
namespace {

class Counter final : public Mechanism {
 public:
  Counter(const MechanismRow& row, v1::Mode mode, RewardCounter part)
      : Mechanism(row, mode), part_(std::move(part)) {}

  std::optional<PrivacyCost> cost() const override {
    return PrivacyCost::Zcdp(part_.design.cost());
  }
  const RewardCounter* counter() const override { return &part_; }
  std::vector<std::pair<std::string, std::string>> IdentityFields(
      const ModelSpec& spec) const override {
    return {{"counter", CounterIdentity(spec.public_spec, part_.design)}};
  }
  std::string Describe(const ModelSpec& spec) const override {
    return DescribeCounter(spec.public_spec, part_.design,
                           drawn_on_device() ? "per user on the device" : "per user by the server",
                           "moment");
  }

 private:
  const RewardCounter part_;
};

}  // namespace

MadeMechanism MakeCounter(const MechanismRow& row, const PublicSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(CounterDesign design,
                           RewardCounterDesign(spec, static_cast<std::size_t>(spec.dimension)));
  return std::make_shared<Counter>(
      row, spec.mode,
      RewardCounter{.design = std::move(design), .centre = spec.reward_range.middle()});
}

}  // namespace bandana
