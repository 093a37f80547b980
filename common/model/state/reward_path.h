// How the reward of an event, or a device's report of an event, reaches the model: the one place
// where entries of the log become released values.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/bandits/sparse/fliphat.h"
#include "common/design/context_policy.h"
#include "common/design/identity.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/joint/joint_counter.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/model/entries/records.h"
#include "common/model/entries/released.h"
#include "common/model/state/cell_codec.h"
#include "common/model/state/central_streams.h"
#include "common/model/state/debit_policy.h"
#include "common/model/state/noise_binding.h"
#include "common/model/state/user_shape.h"
#include "common/random/keyed_stream.h"

namespace bandana {

// Immutable. Threads: const methods are safe.
class RewardPath {
 public:
  // `key` is needed by central models alone. Errors: FAILED_PRECONDITION it is missing;
  // INVALID_ARGUMENT the mechanism's parameters.
  // `binding`: null but in bandana-audit; must outlive the path.
  static absl::StatusOr<RewardPath> Create(const ModelSpec& model, const InstanceId& instance,
                                           std::shared_ptr<const NoiseKey> key,
                                           const NoiseBinding* binding = nullptr);

  bool windowed() const { return windowed_; }
  int dimension() const { return dimension_; }
  bool central() const { return central_; }
  // nullptr without a counter.
  const CounterDesign* counter() const { return counter_ ? &*counter_ : nullptr; }
  // Counter reports come from devices; the log holds no outcome.
  bool counts_on_device() const { return counter_ && !central_; }
  // One counter over all nodes.
  bool shaped() const { return shaped_; }
  // nullptr unless contexts are private and enter the counter with the rewards.
  const JointCounter* joint() const { return joint_ ? &*joint_ : nullptr; }
  // nullptr unless the model is sparse: contexts are private and enter its episodes.
  const Fliphat* sparse() const { return sparse_ ? &*sparse_ : nullptr; }
  // zCDP cost of a stream; nullopt: there are no streams.
  std::optional<Rho> stream_cost() const;
  // nullptr where no randomizer runs, on the device or here.
  const RewardRandomizer* randomizer() const { return randomizer_ ? &*randomizer_ : nullptr; }
  // nullptr unless contexts are private as well.
  const ContextMechanism* contexts() const { return contexts_ ? &*contexts_ : nullptr; }
  // Who pays for what the model releases.
  const std::shared_ptr<const DebitPolicy>& debits() const { return debits_; }

  // Models without a counter: what the reward of the node's event number `index` (from 1) is for
  // the model. Central: drawn from the keyed stream; local: noised on the device; else itself.
  // Errors: UNAVAILABLE the keyed stream failed.
  absl::StatusOr<Released<double>> Release(double reward, int node, std::uint64_t index,
                                           std::uint64_t epoch, const Sha256Digest& history) const;
  // Private contexts: what a report says of its event, unbiased; noised on the device. Requires
  // contexts(). Errors: DATA_LOSS a report of another mechanism; UNAVAILABLE the cipher failed.
  absl::StatusOr<Released<JointEstimate>> Read(const ContextRecord& report) const;
  // Counters: mid of the reward range, public. It stands for every reward in the statistics, and
  // the counter's release adds the rest.
  Released<double> Centre() const { return Released<double>(centre_); }
  // Counters that run here: which stream takes the node's events, and what one event adds to it.
  // `shape`: with shaped(), else not read. Errors: INTERNAL ours.
  int StreamOf(int node) const { return shaped_ ? 0 : node; }
  absl::StatusOr<ClippedIncrement> IncrementOf(int node, std::vector<double> features,
                                               double reward, const UserShape* shape) const;
  const NoiseBinding& binding() const { return *binding_; }
  NoiseOrigin OriginOf(std::uint64_t epoch, const Sha256Digest& history) const;

  // What the cells of open decisions are sealed with, of this instance; nullopt for models that are
  // not central. Errors: UNAVAILABLE the cipher failed.
  absl::StatusOr<std::optional<CellKey>> MakeCellKey() const;

  // 32 hex digits that only this key gives for this instance; "" for models that are not central.
  absl::StatusOr<std::string> KeyFingerprint() const;

 private:
  RewardPath() = default;
  DebitRecord Cost() const;
  std::unique_ptr<const DebitPolicy> MakeDebits() const;

  int dimension_ = 0;
  bool windowed_ = false;
  bool central_ = false;
  bool local_ = false;
  bool shaped_ = false;
  double centre_ = 0;
  double default_reward_ = 0;
  Epsilon epsilon_;
  InstanceId instance_{};
  std::shared_ptr<const NoiseKey> key_;
  const NoiseBinding* binding_ = &BindingOr(nullptr);
  std::optional<CounterDesign> counter_;
  std::optional<JointCounter> joint_;
  std::optional<Fliphat> sparse_;
  std::optional<RewardRandomizer> randomizer_;
  std::optional<ContextMechanism> contexts_;
  Sha256Digest randomizer_parameters_{};
  std::shared_ptr<const DebitPolicy> debits_;
};

}  // namespace bandana
