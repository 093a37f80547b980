#include "common/model/state/reward_path.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/design/counter_policy.h"
#include "common/design/privacy_rules.h"
#include "common/design/sparse_policy.h"
#include "common/mechanisms/canonical_text.h"

namespace bandana {

absl::StatusOr<RewardPath> RewardPath::Create(const ModelSpec& model, const InstanceId& instance,
                                              std::shared_ptr<const NoiseKey> key,
                                              const NoiseBinding* binding) {
  const PublicSpec& spec = model.public_spec;
  RewardPath path;
  path.dimension_ = spec.dimension;
  path.windowed_ = ClosesWindows(spec);
  path.central_ = IsCentralMode(spec.mode);
  path.shaped_ = IsShaped(spec.mechanism);
  path.local_ = IsLocalMode(spec.mode);
  path.default_reward_ = spec.default_reward();
  path.epsilon_ = spec.epsilon;
  path.instance_ = instance;
  path.binding_ = &BindingOr(binding);
  if (path.central_) {
    if (key == nullptr) return FailedPrecondition("a central model needs the server's noise key");
    path.key_ = std::move(key);
  }
  if (model.sparse) {
    BANDANA_ASSIGN_OR_RETURN(path.sparse_, MakeFliphat(model));
  } else if (spec.mode == v1::LOCAL_CONTEXT) {
    BANDANA_ASSIGN_OR_RETURN(path.contexts_, ContextMechanism::Create(spec));
  } else if (spec.mode == v1::JOINT) {
    BANDANA_ASSIGN_OR_RETURN(path.joint_, MakeJointCounter(spec));
    path.counter_ = path.joint_->design();
  } else if (spec.mechanism == v1::COUNTER || path.shaped_) {
    BANDANA_ASSIGN_OR_RETURN(path.counter_, MakeCounterDesign(model));
    path.centre_ = RewardCentre(spec);
  } else if (HasRandomizer(spec)) {
    BANDANA_ASSIGN_OR_RETURN(path.randomizer_, MakeRandomizer(spec));
    path.randomizer_parameters_ = CanonicalText("bandana central randomizer 1")
                                      .Add(spec.epsilon.value)
                                      .Add(spec.reward_range.min)
                                      .Add(spec.reward_range.max)
                                      .Add(std::uint64_t{spec.reward_binary})
                                      .Hash();
  }
  path.debits_ = path.MakeDebits();
  return path;
}

std::unique_ptr<const DebitPolicy> RewardPath::MakeDebits() const {
  constexpr std::string_view kField = "privacy.counter.steps_max";
  const auto bound = [&](std::string_view field, std::string_view whose) {
    return DebitPolicy::Bound{counter_ ? counter_->step_cap() : Fliphat::kRowsMax,
                              std::string(field), std::string(whose)};
  };
  if (shaped_) return MakeModelStreamDebits(Cost(), bound(kField, "all users"));
  if (sparse_) return MakeNodeStreamDebits(Cost(), bound("", "all users"));
  if (counter_ && central_) return MakeNodeStreamDebits(Cost(), bound(kField, "this user"));
  if (counter_) return MakeDeviceStreamDebits(Cost(), bound(kField, "this user"));
  return central_ ? MakeBlockDebits(Cost()) : MakeNoDebits();
}

DebitRecord RewardPath::Cost() const {
  if (joint_) {
    const PrivacyCost& cost = joint_->cost();
    const double rho = counter_->cost().value;
    if (cost.mu)
      return {.releases = 1, .rho = rho, .mu = cost.mu->value, .variation = cost.variation.value};
    return {.releases = 1, .rho = rho};
  }
  if (const std::optional<Rho> rho = stream_cost()) return {.releases = 1, .rho = rho->value};
  return {.releases = kDebitBlock, .pure = epsilon_.value};
}

std::optional<Rho> RewardPath::stream_cost() const {
  if (sparse_) return sparse_->rho();
  return counter_ ? std::optional(counter_->cost()) : std::nullopt;
}

NoiseOrigin RewardPath::OriginOf(std::uint64_t epoch, const Sha256Digest& history) const {
  return {.key = key_.get(),
          .instance = instance_,
          .epoch = epoch,
          .history = binding_->HistoryOf(history),
          .binding = binding_};
}

// PROOF: central begin
absl::StatusOr<ClippedIncrement> RewardPath::IncrementOf(int node, std::vector<double> features,
                                                         double reward,
                                                         const UserShape* shape) const {
  reward = binding_->RewardOf(reward);
  if (joint_) return joint_->Clip(RawInteraction(std::move(features), reward));
  if (shaped_) return ShapedIncrement(*shape, node, features, reward - centre_, *counter_);
  for (double& value : features) value *= reward - centre_;
  return ClippedIncrement::Clip(features, counter_->grid());
}
// PROOF: central end

// PROOF: central begin
absl::StatusOr<Released<double>> RewardPath::Release(double reward, int node, std::uint64_t index,
                                                     std::uint64_t epoch,
                                                     const Sha256Digest& history) const {
  if (!central_) return Released<double>(reward);
  const ClippedReward clipped =
      randomizer_->Clip(RawReward(binding_->RewardOf(reward)), default_reward_);
  const NoiseAddress address{.instance = instance_,
                             .epoch = epoch,
                             .parameters = randomizer_parameters_,
                             .stream = static_cast<std::uint64_t>(node),
                             .node = index,
                             .history = binding_->HistoryOf(history),
                             .input = binding_->InputOf(randomizer_->InputOf(clipped))};
  BANDANA_ASSIGN_OR_RETURN(KeyedStream bits, KeyedStream::ForNode(*key_, address));
  BANDANA_ASSIGN_OR_RETURN(const PerturbedReward perturbed, randomizer_->Randomize(clipped, bits));
  return Released<double>(randomizer_->Value(perturbed.output()));
}
// PROOF: central end

absl::StatusOr<Released<JointEstimate>> RewardPath::Read(const ContextRecord& report) const {
  if (contexts_->privunit() != nullptr) {
    PublicSeed seed;
    if (report.seed.size() != seed.size()) return DataLoss("a context report has no seed");
    std::memcpy(seed.data(), report.seed.data(), seed.size());
    BANDANA_ASSIGN_OR_RETURN(JointEstimate estimate, contexts_->Decode(seed));
    return Released<JointEstimate>(std::move(estimate));
  }
  std::vector<std::int64_t> values(report.value_bytes.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), report.value_bytes.data(), values.size() * sizeof(std::int64_t));
  if (!contexts_->Fits(values)) return DataLoss("a context report's integers do not fit");
  return Released<JointEstimate>(contexts_->Decode(values));
}

absl::StatusOr<std::optional<CellKey>> RewardPath::MakeCellKey() const {
  if (!central_) return std::optional<CellKey>();
  BANDANA_ASSIGN_OR_RETURN(
      KeyedStream bits,
      KeyedStream::ForNode(*key_, {.instance = instance_,
                                   .parameters = CanonicalText("bandana window cells 1").Hash(),
                                   .input = NoiseInput::None()}));
  CellKey key{};
  BANDANA_RETURN_IF_ERROR(bits.Fill(key));
  return std::optional(key);
}

absl::StatusOr<std::string> RewardPath::KeyFingerprint() const {
  if (!central_) return std::string();
  BANDANA_ASSIGN_OR_RETURN(
      KeyedStream bits,
      KeyedStream::ForNode(*key_, {.instance = instance_,
                                   .parameters = CanonicalText("bandana noise key 1").Hash(),
                                   .input = NoiseInput::None()}));
  std::array<std::byte, 16> fingerprint{};
  BANDANA_RETURN_IF_ERROR(bits.Fill(fingerprint));
  return ToHex(fingerprint);
}

}  // namespace bandana
