// The numbers of a model's configuration that evidence can tell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bandana/v1/config.pb.h"
#include "common/design/model_spec.h"

namespace bandana {

struct TunedParameter {
  std::string name;  // as in the configuration
  double start = 1;  // as it is served
  double low = 0, high = 0;
  std::function<void(double value, v1::ModelConfig& config)> set;
};

// The configuration with the effects that are served in place of `standard`, and each with its
// prior variance, so that all of them can be turned: it is the same model. Of other models as it
// is.
v1::ModelConfig WithListedEffects(const v1::ModelConfig& config, const ModelSpec& served);

// reward_stddev (the noise), and prior_stddev of linear models, or the prior variance of each
// effect (WithListedEffects). `reward_stddev`: as it is served, where the configuration leaves it
// out.
std::vector<TunedParameter> TunedParametersOf(const v1::ModelConfig& config, double reward_stddev);

}  // namespace bandana
