#include "common/mechanisms/counters/blt_decoder.h"

#include <cmath>

#include "common/base/status.h"

namespace bandana {

BltDecoder::BltDecoder(const BltTable& table, const IncrementGrid& grid)
    : blt_(BltOf(table)),
      grid_(grid),
      buffers_(table.decay.size() * grid.dimension, 0),
      sum_(grid.dimension, 0) {}

absl::Status BltDecoder::Push(const CounterRelease& release) {
  if (release.step != step_ + 1) {
    return FailedPrecondition("release must be of step ", step_ + 1, ", got ", release.step);
  }
  if (release.values.size() != grid_.dimension) {
    return InvalidArgument("release must have ", grid_.dimension, " values, got ",
                           release.values.size());
  }
  for (std::size_t c = 0; c < grid_.dimension; ++c) {
    double u = static_cast<double>(release.values[c]);
    for (std::size_t i = 0; i < blt_.decay.size(); ++i) {
      u -= blt_.weight[i] * buffers_[i * grid_.dimension + c];
    }
    for (std::size_t i = 0; i < blt_.decay.size(); ++i) {
      double& buffer = buffers_[i * grid_.dimension + c];
      buffer = (1 - blt_.decay[i]) * buffer + u;
    }
    sum_[c] += u;
  }
  ++step_;
  return absl::OkStatus();
}

std::vector<double> BltDecoder::Estimate() const {
  std::vector<double> estimate(sum_.size());
  for (std::size_t c = 0; c < sum_.size(); ++c) estimate[c] = std::ldexp(sum_[c], grid_.exponent);
  return estimate;
}

}  // namespace bandana
