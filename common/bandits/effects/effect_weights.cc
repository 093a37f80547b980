#include "common/bandits/effects/effect_weights.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr double kPriorVariance = 0.3;  // of a weight, and the most that it is ever unsure by
// How much a weight may move per event. It lets weights follow the blocks that they multiply.
constexpr double kDrift = 1e-4;
// An effect of weight 0 would never learn again.
constexpr double kWeightMin = 0.1;

}  // namespace

EffectWeights::EffectWeights(std::size_t effects)
    : learnt_(effects, 1.0),
      shown_(effects, 1.0),
      covariance_(effects * (effects + 1) / 2),
      along_(effects) {
  for (std::size_t t = 0, diagonal = 0; t < effects; diagonal += ++t + 1) {
    covariance_[diagonal] = kPriorVariance;
  }
}

double EffectWeights::Spread(std::span<const float> parts) {
  BANDANA_CHECK(parts.size() == along_.size());
  std::fill(along_.begin(), along_.end(), 0.0);
  const double* row = covariance_.data();
  for (std::size_t t = 0; t < parts.size(); row += ++t) {
    double sum = row[t] * parts[t];
    for (std::size_t u = 0; u < t; ++u) {
      sum += row[u] * parts[u];
      along_[u] += row[u] * parts[t];
    }
    along_[t] += sum;
  }
  double spread = 0;
  for (std::size_t t = 0; t < parts.size(); ++t) spread += along_[t] * parts[t];
  return std::max(0.0, spread);
}

void EffectWeights::Learn(double error, double variance, double clear) {
  const double gain = error / variance;
  double* row = covariance_.data();
  for (std::size_t t = 0; t < along_.size(); row += ++t) {
    learnt_[t] = std::max(learnt_[t] + gain * along_[t], kWeightMin);
    const double share = along_[t] / variance;
    for (std::size_t u = 0; u <= t; ++u) row[u] -= share * along_[u];
    row[t] = std::min(row[t] + kDrift * clear, kPriorVariance);
  }
}

void EffectWeights::Encode(ByteWriter& out) const {
  for (const auto* values : {&learnt_, &shown_, &covariance_}) {
    for (const double value : *values) out.F64(value);
  }
}

absl::Status EffectWeights::Decode(ByteReader& in) {
  EffectWeights read(learnt_.size());
  for (auto* values : {&read.learnt_, &read.shown_, &read.covariance_}) {
    for (double& value : *values) {
      value = in.F64();
      if (!in.ok() || !std::isfinite(value)) {
        return DataLoss("the weights of effects are cut short or no numbers");
      }
    }
  }
  for (std::size_t t = 0, diagonal = 0; t < learnt_.size(); diagonal += ++t + 1) {
    const double variance = read.covariance_[diagonal];
    if (!(read.learnt_[t] >= kWeightMin) || !(read.shown_[t] >= kWeightMin) || !(variance >= 0) ||
        !(variance <= kPriorVariance)) {
      return DataLoss("the weights of effects are none that can be learnt");
    }
  }
  *this = std::move(read);
  return absl::OkStatus();
}

}  // namespace bandana
