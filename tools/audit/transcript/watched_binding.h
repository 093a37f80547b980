// The source of draws of a central server in a world.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "common/design/model_spec.h"
#include "common/model/state/context_binding.h"
#include "common/promise/mode.h"
#include "tools/audit/transcript/recorder.h"

namespace bandana::audit {

// Blind draws take the default for every reward, zeros for the features where these are private,
// and noise that does not depend on the log, which holds both. Real ones are noted.
class WatchedBinding final : public ContextBinding {
 public:
  // `recorder` must outlive it.
  WatchedBinding(bool blind, const PublicSpec& spec, Recorder& recorder)
      : blind_(blind),
        private_features_(HidesContexts(spec.mode)),
        default_reward_(spec.default_reward()),
        zeros_(static_cast<std::size_t>(spec.dimension)),
        recorder_(recorder) {}

  Sha256Digest HistoryOf(const Sha256Digest& history) const override {
    if (blind_) return {};
    // Contexts are in the log since the decision, so that all later noise depends on them.
    if (private_features_) recorder_.Draw(ToHex(history));
    return history;
  }
  double RewardOf(double reward) const override {
    if (blind_) return default_reward_;
    Note({&reward, 1});
    return reward;
  }
  std::span<const double> FeaturesOf(std::span<const double> features) const override {
    if (!private_features_) return features;
    if (blind_) return zeros_;
    Note(features);
    return features;
  }

 private:
  void Note(std::span<const double> input) const {
    std::string bytes(input.size_bytes(), '\0');
    std::memcpy(bytes.data(), input.data(), bytes.size());
    recorder_.Draw(std::move(bytes));
  }

  const bool blind_;
  const bool private_features_;
  const double default_reward_;
  const std::vector<double> zeros_;
  Recorder& recorder_;
};

}  // namespace bandana::audit
