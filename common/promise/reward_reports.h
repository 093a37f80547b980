// A one-shot mechanism for rewards as both sides use it: the device, or the server in its place,
// draws one output per event, and the server reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "common/mechanisms/reward_chain.h"
#include "common/mechanisms/reward_range.h"
#include "common/promise/kinds.h"
#include "common/random/bit_source.h"
#include "common/random/keyed_stream.h"

namespace bandana {

// One report, as it is on the wire; `window` as it is in its token.
struct RewardReport {
  std::uint32_t output = 0;
  bool whole_range = false;  // the device did not use the window
  std::optional<RewardRange> window;
};

// A report as the posterior takes it: `value` is the released reward, of which the noise has at
// most `variance`. To a model whose events all have one variance it is an event whose reward and
// features are both multiplied by `scale` (EventScale).
struct RewardEvent {
  double value = 0;
  double scale = 1;
  double variance = 0;
  // Where the value lies in its window, whose ends are -1 and 1; none without a window.
  std::optional<double> place;
};

// Immutable. Threads: const methods are safe, given a source each.
class RewardReports {
 public:
  virtual ~RewardReports() = default;

  // Outputs are 0 .. outputs() - 1.
  virtual std::uint32_t outputs() const = 0;
  // Largest variance of an event's value over rewards in the range, reward units squared.
  virtual double VarianceMax() const = 0;
  // The address of keyed noise: SHA-256 of all parameters.
  virtual Sha256Digest parameters() const = 0;
  // SHA-256 of the integers that Draw goes by: sides that differ in them mean other things.
  virtual Sha256Digest table() const = 0;

  // The server names a window with every arm that it ranks, and rewards are clipped to it.
  virtual bool uses_windows() const = 0;
  // The part of the range that the reward of an arm should be clipped to, from the posterior's mean
  // and standard deviation of it; nothing: the whole range. `reward_stddev` is the model's.
  virtual std::optional<RewardRange> WindowFor(double mean, double width,
                                               double reward_stddev) const = 0;
  // Whether a device's report says that the window which its decision names was not used.
  virtual bool IsWholeRange(const std::optional<RewardRange>& window) const = 0;

  // Missing and NaN rewards become the default, others move into the window, or the range where
  // there is none. The window must not depend on the reward.
  virtual ClippedReward Clip(const RawReward& reward, double default_reward,
                             const std::optional<RewardRange>& window) const = 0;
  // The input that keyed bits for this reward are bound to (NoiseAddress::input). Tells the reward
  // to anyone who tries all steps: for an address alone.
  virtual NoiseInput InputOf(const ClippedReward& reward) const = 0;
  // Draws once. The caller has debited the mechanism's cost durably before. Errors: UNAVAILABLE
  // entropy failed, nothing returned.
  virtual absl::StatusOr<PerturbedReward> Draw(const ClippedReward& reward,
                                               BitSource& bits) const = 0;

  // `reward_stddev` is the model's. Post-processing.
  virtual std::variant<RewardEvent, RejectReason> Read(const RewardReport& report,
                                                       double reward_stddev) const = 0;

 protected:
  // For what draws by itself. A ClippedReward is made by RewardClip alone.
  static std::uint32_t StepOf(const ClippedReward& reward) { return reward.step_; }
  static PerturbedReward Perturbed(std::uint32_t output) { return PerturbedReward(output); }
};

}  // namespace bandana
