#include "tools/tune/tuned_parameters.h"

#include "absl/strings/str_cat.h"

namespace bandana {
namespace {

constexpr double kStddevMin = 1e-15;
constexpr double kStddevMax = 1e6;
constexpr double kVarianceMin = 1e-12;
constexpr double kVarianceMax = 1e12;

double OrOne(double value) { return value == 0 ? 1 : value; }

// Nothing for the part that an effect does not have.
void AddKeys(const EffectScope& scope, const EffectsSpec& effects, v1::Effect& out) {
  if (scope.user == 0) out.add_keys()->set_user(true);
  if (scope.user > 0) out.add_keys()->set_user_group(effects.user_groups[scope.user - 1]);
  if (scope.arm == 0) out.add_keys()->set_arm(true);
  if (scope.arm > 0) out.add_keys()->set_arm_group(effects.arm_groups[scope.arm - 1]);
}

}  // namespace

v1::ModelConfig WithListedEffects(const v1::ModelConfig& config, const ModelSpec& served) {
  v1::ModelConfig listed = config;
  if (!served.effects) return listed;
  v1::EffectsCoupling& out = *listed.mutable_effects();
  out.clear_standard();
  out.clear_effects();
  for (const EffectTerm& term : served.effects->terms) {
    v1::Effect& effect = *out.add_effects();
    effect.set_name(term.effect.name);
    effect.set_features(term.effect.vector ? v1::Effect::VECTOR : v1::Effect::CONSTANT);
    effect.set_prior_variance(term.effect.prior_variance);
    effect.set_half_life(static_cast<std::uint64_t>(term.effect.half_life));
    AddKeys(term.scope, *served.effects, effect);
  }
  out.mutable_weights()->set_none(!served.effects->weights);
  return listed;
}

std::vector<TunedParameter> TunedParametersOf(const v1::ModelConfig& config, double reward_stddev) {
  std::vector<TunedParameter> parameters = {
      {"reward_stddev", reward_stddev, kStddevMin, kStddevMax,
       [](double value, v1::ModelConfig& changed) { changed.set_reward_stddev(value); }}};
  if (!config.has_effects()) {
    parameters.push_back(
        {"prior_stddev", OrOne(config.prior_stddev()), kStddevMin, kStddevMax,
         [](double value, v1::ModelConfig& changed) { changed.set_prior_stddev(value); }});
    return parameters;
  }
  for (int at = 0; at < config.effects().effects_size(); ++at) {
    const v1::Effect& effect = config.effects().effects(at);
    parameters.push_back(
        {absl::StrCat("effects.", effect.name(), ".prior_variance"), effect.prior_variance(),
         kVarianceMin, kVarianceMax, [at](double value, v1::ModelConfig& changed) {
           changed.mutable_effects()->mutable_effects(at)->set_prior_variance(value);
         }});
  }
  return parameters;
}

}  // namespace bandana
