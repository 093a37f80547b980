#include "common/bandits/effective.h"

#include <algorithm>
#include <cstddef>

#include "common/bandits/statistics.h"
#include "common/linalg/symmetric.h"

namespace bandana {
namespace {

// beta / s2 and S / s2.
EffectiveStatistics Scaled(const NodeStatistics& statistics, double observation_variance) {
  EffectiveStatistics effective{statistics.gram, statistics.moment, statistics.events};
  for (double& value : effective.information) value /= observation_variance;
  for (double& value : effective.shift) value /= observation_variance;
  return effective;
}

}  // namespace

EffectiveStatistics Effective(const NodeStatistics& statistics, double observation_variance) {
  if (statistics.events == 0) {
    return {std::vector<double>(statistics.gram.size(), 0.0),
            std::vector<double>(statistics.moment.size(), 0.0), 0};
  }
  const double v = statistics.moment_variance;
  if (v == 0) return Scaled(statistics, observation_variance);

  const int d = static_cast<int>(statistics.moment.size());
  const std::size_t ld = d;
  std::vector<double> r(ld * ld, 0.0);
  std::vector<double> w(ld * ld);  // S, then L^-1 S
  std::vector<double> moment = statistics.moment;
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) {
      const double s = statistics.gram[PackedIndex(i, j)];
      r[i * ld + j] = observation_variance * s;
      w[i * ld + j] = w[j * ld + i] = s;
    }
    r[i * ld + i] += v;
  }
  FactorWithFloor(r.data(), d, v);
  SolveLower(r.data(), d, w.data(), d);
  SolveLower(r.data(), d, moment.data(), 1);

  EffectiveStatistics effective{std::vector<double>(statistics.gram.size()),
                                std::vector<double>(ld, 0.0), statistics.events};
  std::fill(r.begin(), r.end(), 0.0);
  AddOuter(1, w.data(), d, d, r.data());
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) effective.information[PackedIndex(i, j)] = r[i * ld + j];
  }
  for (int l = 0; l < d; ++l) {
    for (int i = 0; i < d; ++i) effective.shift[i] += w[l * ld + i] * moment[l];
  }
  return effective;
}

}  // namespace bandana
