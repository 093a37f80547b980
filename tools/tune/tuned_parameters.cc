#include "tools/tune/tuned_parameters.h"

#include "absl/strings/str_cat.h"

namespace bandana {
namespace {

constexpr double kStddevMin = 1e-15;
constexpr double kStddevMax = 1e6;
constexpr double kVarianceMin = 1e-12;
constexpr double kVarianceMax = 1e12;

double OrOne(double value) { return value == 0 ? 1 : value; }

}  // namespace

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
    if (effect.prior_variance() == 0) continue;  // a default that follows from the reward range
    parameters.push_back(
        {absl::StrCat("effects.", effect.name(), ".prior_variance"), effect.prior_variance(),
         kVarianceMin, kVarianceMax, [at](double value, v1::ModelConfig& changed) {
           changed.mutable_effects()->mutable_effects(at)->set_prior_variance(value);
         }});
  }
  return parameters;
}

}  // namespace bandana
