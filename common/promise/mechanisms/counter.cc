#include "common/promise/mechanisms/counter.h"

#include "common/base/status.h"
#include "common/promise/counter_options.h"

namespace bandana {
namespace {

class Counter final : public Mechanism {
 public:
  Counter(const MechanismRow& row, Mode mode, RewardCounter part)
      : Mechanism(row, mode), part_(std::move(part)) {}

  std::optional<PrivacyCost> cost() const override {
    return PrivacyCost::Zcdp(part_.design.cost());
  }
  const RewardCounter* counter() const override { return &part_; }

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
