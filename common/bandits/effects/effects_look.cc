// Views for operators of a model of effects: the parts of a score, and the largest effects.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <shared_mutex>

#include "common/bandits/effects/effects_posterior.h"
#include "common/base/check.h"

namespace bandana {

void EffectsPosterior::Explain(std::span<const EffectKey> user, const ArmsOnOffer& arms,
                               std::vector<EffectShare>& out) const {
  const std::size_t n = arms.features.size();
  const std::size_t effects = options_.scopes.size();
  const auto parts = static_cast<std::size_t>(options_.arm_parts);
  BANDANA_CHECK(arms.keys.size() == n * parts);
  out.clear();
  out.reserve(n * effects);
  Keys keys(effects, kAbsent);
  const std::shared_lock lock(mutex_);
  for (std::size_t a = 0; a < n; ++a) {
    const std::span<const double> x(arms.features[a], static_cast<std::size_t>(options_.dimension));
    for (std::size_t t = 0; t < effects; ++t) {
      keys[t] = KeyOf(options_.scopes[t], user, arms.keys.subspan(a * parts, parts));
      const EffectsModel::Belief belief = model_.Predict(keys, x);
      out.push_back({.mean = belief.mean, .width = std::sqrt(std::max(0.0, belief.variance))});
      keys[t] = kAbsent;
    }
  }
}

std::size_t EffectsPosterior::PartsOfArms(std::span<const EffectKey> user, const ArmsOnOffer& arms,
                                          std::vector<ArmPart>& out) const {
  std::vector<std::size_t> of_arms;
  for (std::size_t t = 0; t < options_.scopes.size(); ++t) {
    if (options_.scopes[t].arm != EffectScope::kNone) of_arms.push_back(t);
  }
  const std::size_t n = arms.features.size();
  const auto parts = static_cast<std::size_t>(options_.arm_parts);
  BANDANA_CHECK(arms.keys.size() == n * parts);
  out.clear();
  out.reserve(n * of_arms.size());
  Keys keys(options_.scopes.size(), kAbsent);
  const std::shared_lock lock(mutex_);
  for (std::size_t a = 0; a < n; ++a) {
    const std::span<const double> x(arms.features[a], static_cast<std::size_t>(options_.dimension));
    for (const std::size_t t : of_arms) {
      keys[t] = KeyOf(options_.scopes[t], user, arms.keys.subspan(a * parts, parts));
      const EffectsModel::Belief belief = model_.Predict(keys, x);
      out.push_back({.key = keys[t],
                     .mean = belief.mean,
                     .width = std::sqrt(std::max(0.0, belief.variance))});
      keys[t] = kAbsent;
    }
  }
  return of_arms.size();
}

std::vector<EffectLook> EffectsPosterior::Look(std::size_t count) const {
  std::vector<EffectLook> looks;
  for (std::size_t t = 0; t < options_.effects.size(); ++t) {
    const EffectScope& scope = options_.scopes[t];
    const bool is_pair = scope.user != EffectScope::kNone && scope.arm != EffectScope::kNone;
    // Nobody may look at the tastes of single users.
    const std::size_t shown = is_pair || scope.user == 0 ? 0 : count;
    const int effect = static_cast<int>(t);
    EffectLook& look = looks.emplace_back();
    look.name = options_.effects[t].name;
    look.scope = scope;
    look.vector = options_.effects[t].vector;
    const std::shared_lock lock(mutex_);
    look.blocks = model_.blocks(effect);
    look.prior_variance = model_.prior_variance(effect);
    look.weight = model_.weight(t);
    for (const EffectsModel::Block& block : model_.Largest(effect, shown)) {
      look.largest.push_back(
          {.key = block.key, .name = "", .mean = block.mean, .width = block.width});
    }
  }
  return looks;
}

}  // namespace bandana
