// Parts of a model's mechanism, made anew from a specification that a test may have changed.
#pragma once

#include <memory>

#include "common/base/check.h"
#include "common/design/mechanism.h"
#include "common/design/mechanism_table.h"
#include "common/mechanisms/reward_randomizer.h"

namespace bandana::testing {

// As the server makes it.
inline std::shared_ptr<const Mechanism> Made(const ModelSpec& spec) {
  return MakeMechanism(spec).value();
}
// As above, from the policy alone. Requires a mechanism that needs no more.
inline std::shared_ptr<const Mechanism> Made(const PublicSpec& spec) {
  const MechanismRow& row = *FindMechanism(spec.mechanism, spec.mode);
  return row.make(row, spec).value();
}

// The counter of rewards, over all users, or of contexts and rewards.
template <typename Spec>
CounterDesign DesignOf(const Spec& spec) {
  const std::shared_ptr<const Mechanism> made = Made(spec);
  if (made->joint() != nullptr) return made->joint()->design();
  if (made->shaped() != nullptr) return made->shaped()->design;
  BANDANA_CHECK(made->counter() != nullptr);
  return made->counter()->design;
}
inline JointCounter JointOf(const PublicSpec& spec) { return *Made(spec)->joint(); }
inline Fliphat FliphatOf(const ModelSpec& spec) { return *Made(spec)->sparse(); }

template <typename Spec>
std::shared_ptr<const ContextReports> ContextsOf(const Spec& spec) {
  const std::shared_ptr<const Mechanism> made = Made(spec);
  BANDANA_CHECK(made->contexts() != nullptr);
  return {made, made->contexts()};
}

inline RewardRandomizer RandomizerOf(const PublicSpec& spec) {
  return RewardRandomizer::Create(
             {.epsilon = spec.epsilon, .range = spec.reward_range, .binary = spec.reward_binary})
      .value();
}

}  // namespace bandana::testing
