#include "tools/audit/replay_faults.h"

#include <vector>

#include "tools/audit/replay_model.h"

namespace bandana::audit {
namespace {

// The shipped binding under another build of the server, which reads rewards a little differently:
// all of them, or one.
class Sound : public NoiseBinding {
 public:
  Sound(bool other_build, bool one_reward) : other_build_(other_build), one_reward_(one_reward) {}
  double RewardOf(double reward) const override {
    if (!other_build_) return reward;
    if (!one_reward_) return reward * (1 - 0x1p-13);
    return reward == kMarkedReward ? reward * (1 - 0x1p-6) : reward;
  }

 private:
  const bool other_build_;
  const bool one_reward_;
};

// As before checkpoints of version 6.
class WithoutInput final : public Sound {
 public:
  using Sound::Sound;
  NoiseInput InputOf(const NoiseInput&) const override { return NoiseInput::None(); }
};

// An address names the newest increment, not those before it in the same sum.
class LastIncrementOnly final : public Sound {
 public:
  using Sound::Sound;
  Sha256Digest Chain(const ClippedIncrement& increment, const Sha256Digest&) const override {
    return increment.ChainAfter({});
  }
};

// A restored stream's chain begins anew.
class ChainAnewAtRestore final : public Sound {
 public:
  using Sound::Sound;
  Sha256Digest ChainOfRestored(const Sha256Digest&) const override { return {}; }
};

template <typename Binding>
std::unique_ptr<NoiseBinding> Make(bool other_build, bool one_reward) {
  return std::make_unique<Binding>(other_build, one_reward);
}

}  // namespace

std::span<const ReplayFault> ReplayFaults() {
  static const std::vector<ReplayFault>& faults = *new std::vector<ReplayFault>{
      {"", "", false, Make<Sound>},
      {"noise-without-input", "no address of noise names the data", false, Make<WithoutInput>},
      {"identity-without-bounds", "a JOINT identity does not hold feature_l2_max", true,
       Make<Sound>},
      {"same-noise-other-bound", "both of the above: the same noise for x / L and x / L'", true,
       Make<WithoutInput>},
      {"last-increment-only", "an address names the newest increment, not the sum", false,
       Make<LastIncrementOnly>},
      {"chain-anew-at-restore", "a chain is not in the checkpoint", false,
       Make<ChainAnewAtRestore>},
  };
  return faults;
}

}  // namespace bandana::audit
