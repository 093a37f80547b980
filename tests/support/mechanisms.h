// Parts of a model's mechanism, made anew from a specification that a test may have changed.
#pragma once

#include <memory>
#include <utility>

#include "common/base/check.h"
#include "common/design/server_mechanism.h"
#include "common/design/wire_messages.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/promise/mechanism.h"

namespace bandana::testing {

// The specification with its mechanism as the server makes it.
inline ModelSpec Made(ModelSpec spec) {
  BANDANA_CHECK(MakeMechanisms(spec).ok());
  return spec;
}
// Requires a mechanism that needs no more than the policy.
inline ModelSpec Made(const PublicSpec& policy) {
  ModelSpec spec;
  spec.public_spec = policy;
  return Made(std::move(spec));
}

// The message of a specification that a test may have changed, with the table of what it says now.
inline v1::GetModelResponse ModelMessage(PublicSpec spec) {
  spec.made = MakeMechanism(spec).value_or(NoMechanism());
  return ToProto(spec);
}

// The counter of rewards, over all users, or of contexts and rewards.
template <typename Spec>
CounterDesign DesignOf(const Spec& spec) {
  const ModelSpec made = Made(spec);
  if (made.mechanism->joint() != nullptr) return made.mechanism->joint()->design();
  if (made.mechanism->shaped() != nullptr) return made.mechanism->shaped()->design;
  BANDANA_CHECK(made.public_spec.made->counter() != nullptr);
  return made.public_spec.made->counter()->design;
}
inline JointCounter JointOf(const PublicSpec& spec) { return *Made(spec).mechanism->joint(); }
inline Fliphat FliphatOf(const ModelSpec& spec) { return *Made(spec).mechanism->sparse(); }

template <typename Spec>
std::shared_ptr<const ContextReports> ContextsOf(const Spec& spec) {
  const std::shared_ptr<const Mechanism> made = Made(spec).public_spec.made;
  BANDANA_CHECK(made->contexts() != nullptr);
  return {made, made->contexts()};
}

inline RewardRandomizer RandomizerOf(const PublicSpec& spec) {
  return RewardRandomizer::Create(
             {.epsilon = spec.epsilon, .range = spec.reward_range, .binary = spec.reward_binary})
      .value();
}

}  // namespace bandana::testing
