#include "bench/zipf_events.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace bandana::bench {

ZipfLaw::ZipfLaw(int n) {
  cumulative_.reserve(n);
  double sum = 0;
  for (int i = 0; i < n; ++i) cumulative_.push_back(sum += 1.0 / (1 + i));
}

int ZipfLaw::Draw(SeededStream& stream) const {
  const double at = stream.Uniform() * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
  return static_cast<int>(found - cumulative_.begin());
}

ZipfEvents::ZipfEvents(const ZipfOptions& options)
    : options_(options),
      users_(options.users),
      arms_(options.arms),
      stream_(options.seed, StreamPurpose::kArrival, 0) {
  for (int level = 0; level < options.levels; ++level) {
    auto& keys = group_keys_.emplace_back();
    const int groups = std::max(1, options.groups >> level);
    for (int group = 0; group < groups; ++group) {
      keys.push_back(GroupKey("level" + std::to_string(level), std::to_string(group)));
    }
  }
}

void ZipfEvents::DrawUser(std::vector<EffectKey>& parts) {
  const int user = users_.Draw(stream_);
  parts.assign(1, UserKey(std::to_string(user)));
  // Popular users fall into groups as all others do.
  const auto group = Permuted(options_.seed, 0, options_.users, user) % options_.groups;
  for (int level = 0; level < options_.levels; ++level) {
    const auto& keys = group_keys_[level];
    parts.push_back(keys[(group >> level) % keys.size()]);
  }
}

void ZipfEvents::DrawArm(std::vector<EffectKey>& parts) {
  parts.assign(1, ArmKey(static_cast<std::uint32_t>(arms_.Draw(stream_))));
}

void ZipfEvents::DrawFeatures(std::vector<double>& x) {
  x.resize(options_.dimension);
  double square = 0;
  for (double& value : x) {
    value = stream_.QuickNormal();
    square += value * value;
  }
  for (double& value : x) value /= std::sqrt(square);
}

void ZipfEvents::Next(ZipfEvent& event) {
  DrawUser(event.user);
  DrawArm(event.arm);
  DrawFeatures(event.x);
  event.reward = stream_.Uniform() < 0.2 + 0.1 * event.x[0] ? 1 : 0;
}

}  // namespace bandana::bench
