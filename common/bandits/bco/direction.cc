#include "common/bandits/bco/direction.h"

#include <cmath>

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<std::vector<double>> DrawDirection(int dimension, RealSampler& sampler) {
  std::vector<double> u(dimension);
  double squares = 0;
  while (squares == 0) {  // a normal is never zero: once
    BANDANA_RETURN_IF_ERROR(sampler.FillNormal(u));
    for (const double value : u) squares += value * value;
  }
  for (double& value : u) value /= std::sqrt(squares);
  return u;
}

}  // namespace bandana
