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
    : learnt_(effects, 1.0), shown_(effects, 1.0), covariance_(effects * effects), along_(effects) {
  for (std::size_t t = 0; t < effects; ++t) covariance_[t * (effects + 1)] = kPriorVariance;
}

double EffectWeights::Spread(std::span<const float> parts) {
  BANDANA_CHECK(parts.size() == along_.size());
  const std::size_t n = parts.size();
  std::fill(along_.begin(), along_.end(), 0.0);
  const double* row = covariance_.data();
  for (std::size_t t = 0; t < n; ++t, row += n) {
    const double part = parts[t];
    for (std::size_t u = 0; u < n; ++u) along_[u] += part * row[u];
  }
  double spread = 0;
  for (std::size_t t = 0; t < n; ++t) spread += along_[t] * parts[t];
  return std::max(0.0, spread);
}

void EffectWeights::Learn(double error, double variance, double clear) {
  const std::size_t n = along_.size();
  const double scale = 1 / std::sqrt(variance);
  for (double& along : along_) along *= scale;
  double* row = covariance_.data();
  for (std::size_t t = 0; t < n; ++t, row += n) {
    const double share = along_[t];
    learnt_[t] = std::max(learnt_[t] + error * scale * share, kWeightMin);
    for (std::size_t u = 0; u < n; ++u) row[u] -= share * along_[u];
    row[t] = std::min(row[t] + kDrift * clear, kPriorVariance);
  }
}

void EffectWeights::Encode(ByteWriter& out) const {
  for (const auto* values : {&learnt_, &shown_}) {
    for (const double value : *values) out.F64(value);
  }
  const std::size_t n = learnt_.size();
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t u = 0; u <= t; ++u) out.F64(covariance_[t * n + u]);
  }
}

absl::Status EffectWeights::Decode(ByteReader& in) {
  const std::size_t n = learnt_.size();
  EffectWeights read(n);
  bool finite = true;
  const auto take = [&] {
    const double value = in.F64();
    finite = finite && std::isfinite(value);
    return value;
  };
  for (double& value : read.learnt_) value = take();
  for (double& value : read.shown_) value = take();
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t u = 0; u <= t; ++u) {
      read.covariance_[t * n + u] = read.covariance_[u * n + t] = take();
    }
  }
  if (!in.ok() || !finite) return DataLoss("the weights of effects are cut short or no numbers");
  for (std::size_t t = 0; t < n; ++t) {
    const double variance = read.covariance_[t * (n + 1)];
    if (!(read.learnt_[t] >= kWeightMin) || !(read.shown_[t] >= kWeightMin) || !(variance >= 0) ||
        !(variance <= kPriorVariance)) {
      return DataLoss("the weights of effects are none that can be learnt");
    }
  }
  *this = std::move(read);
  return absl::OkStatus();
}

}  // namespace bandana
