// The arms of a logged slot as a model sees them: features and keys, of the line or of a catalogue.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/decisions/logged_decision.h"
#include "common/design/model_spec.h"
#include "common/ranking/effect_key.h"
#include "common/ranking/scoring.h"

namespace bandana {

// Arms have the features of the line, else those that were put. Not thread-safe.
class OfferedArms {
 public:
  // `spec` must outlive it.
  explicit OfferedArms(const ModelSpec& spec) : spec_(spec) {}

  // An arm of the catalogue: d features, clipped to the model's ball, and the value of each group
  // that it is in.
  template <typename Groups>
  void Put(std::uint32_t id, std::vector<double> features, const Groups& groups) {
    std::vector<EffectKey> keys;
    if (spec_.effects) {
      keys.push_back(ArmKey(id));
      for (const std::string& group : spec_.effects->arm_groups) {
        const auto value = groups.find(group);
        keys.push_back(value == groups.end() ? kAbsent : GroupKey(group, value->second));
      }
    }
    Put(id, {.features = std::move(features), .keys = std::move(keys)});
  }

  // Finds every arm of the slot. Errors: FAILED_PRECONDITION the line names no arms, has not their
  // features and neither has the catalogue, or has features of another dimension.
  absl::Status Find(const LoggedSlot& slot);

  // Those of the slot that was found last; valid until the next Find.
  ArmsOnOffer all() const { return {.features = features_, .keys = keys_}; }
  ArmsOnOffer only(std::size_t position) const;
  std::size_t size() const { return features_.size(); }

 private:
  struct Arm {
    std::vector<double> features;
    std::vector<EffectKey> keys;
  };
  void Put(std::uint32_t id, Arm arm);
  void FindKeys(const LoggedSlot& slot);

  const ModelSpec& spec_;
  std::unordered_map<std::uint32_t, Arm> catalogue_;
  std::vector<const double*> features_;
  std::vector<EffectKey> keys_;
};

}  // namespace bandana
