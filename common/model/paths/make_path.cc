#include "common/model/paths/make_path.h"

#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/design/server_mechanism.h"
#include "common/design/user_nodes.h"
#include "common/model/learners/make_reward_events.h"
#include "common/model/paths/context_path.h"
#include "common/model/paths/device_counter_path.h"
#include "common/model/paths/drawn_path.h"
#include "common/model/paths/plain_path.h"
#include "common/model/paths/sparse_path.h"
#include "common/model/paths/stream_path.h"
#include "common/promise/event_rule.h"

namespace bandana {
namespace {

using Path = absl::StatusOr<std::unique_ptr<const EventPath>>;

// The ingredients of a path.
struct Parts {
  const ModelSpec& model;
  const InstanceId& instance;
  std::shared_ptr<const NoiseKey> key;
  const NoiseBinding* binding;

  const PublicSpec& spec() const { return model.public_spec; }
  absl::StatusOr<KeyedNoise> Noise() const { return KeyedNoise::Create(instance, key, binding); }
  PathFacts Facts(std::unique_ptr<const DebitPolicy> debits) const {
    return {.mechanism = spec().made,
            .dimension = spec().dimension,
            .nodes = model.coupling.nodes(),
            .users = UserNodesOf(model),
            .events = MakeRewardEvents(model),
            .debits = std::move(debits),
            .event_cost = PrivacyCost::Pure(spec().epsilon),
            .notes = Notes()};
  }
  // Rewards are kept where nothing hides them: they are above what comes without a reaction.
  std::optional<ArmNotesFacts> Notes() const {
    const auto& effects = model.effects;
    if (!effects || (!effects->seen && effects->cold_events == 0)) return std::nullopt;
    ArmNotesFacts notes{.seen = effects->seen,
                        .cold_events = effects->cold_events,
                        .user_parts = 1 + effects->user_groups.size()};
    if (!spec().made->mode().is_private) {
      notes.rewarded_above =
          spec().reward_window ? spec().default_reward() : spec().reward_range.min;
    }
    return notes;
  }
  const EventIntake& Intake(const EventIntake& of_windows) const {
    return ClosesWindows(spec()) ? of_windows : OnceIntake();
  }
};

DebitPolicy::Bound BoundOf(const CounterDesign& design, std::string_view whose) {
  return {design.step_cap(), "privacy.counter.steps_max", std::string(whose)};
}

DebitRecord StreamDebit(const CounterDesign& design) {
  return {.releases = 1, .rho = design.cost().value};
}

Path MakePublic(const Parts& parts) {
  PathFacts facts = parts.Facts(MakeNoDebits());
  facts.event_cost.reset();
  return std::make_unique<PlainPath>(std::move(facts), parts.Intake(OpenWindowIntake()),
                                     /*variance=*/0);
}

Path MakeReported(const Parts& parts, const RewardReports& rewards) {
  return std::make_unique<PlainPath>(parts.Facts(MakeNoDebits()), OnceIntake(),
                                     rewards.VarianceMax());
}

Path MakeDrawn(const Parts& parts, const RewardReports& rewards) {
  BANDANA_ASSIGN_OR_RETURN(KeyedNoise noise, parts.Noise());
  PathFacts facts =
      parts.Facts(MakeBlockDebits({.releases = kDebitBlock, .pure = parts.spec().epsilon.value}));
  return std::make_unique<DrawnPath>(std::move(facts), parts.Intake(WindowIntake()),
                                     std::move(noise), rewards, parts.spec().default_reward());
}

Path MakeDeviceCounter(const Parts& parts, const RewardCounter& counter) {
  const CounterDesign& design = counter.design;
  PathFacts facts =
      parts.Facts(MakeDeviceStreamDebits(StreamDebit(design), BoundOf(design, "this user")));
  facts.stream_cost = design.cost();
  return std::make_unique<DeviceCounterPath>(std::move(facts), counter);
}

Path MakeServerCounter(const Parts& parts, const RewardCounter& counter) {
  BANDANA_ASSIGN_OR_RETURN(KeyedNoise noise, parts.Noise());
  const CounterDesign& design = counter.design;
  PathFacts facts =
      parts.Facts(MakeNodeStreamDebits(StreamDebit(design), BoundOf(design, "this user")));
  facts.stream_cost = design.cost();
  return std::make_unique<CounterPath>(std::move(facts), parts.Intake(WindowIntake()),
                                       std::move(noise), counter);
}

Path MakeShaped(const Parts& parts, const ShapedCounter& counter) {
  BANDANA_ASSIGN_OR_RETURN(KeyedNoise noise, parts.Noise());
  const CounterDesign& design = counter.design;
  PathFacts facts =
      parts.Facts(MakeModelStreamDebits(StreamDebit(design), BoundOf(design, "all users")));
  facts.stream_cost = design.cost();
  return std::make_unique<ShapedPath>(std::move(facts), parts.Intake(WindowIntake()),
                                      std::move(noise), counter);
}

Path MakeJoint(const Parts& parts, const JointCounter& joint) {
  BANDANA_ASSIGN_OR_RETURN(KeyedNoise noise, parts.Noise());
  const CounterDesign& design = joint.design();
  DebitRecord debit = StreamDebit(design);
  if (const PrivacyCost& cost = joint.cost(); cost.mu) {
    debit.mu = cost.mu->value;
    debit.variation = cost.variation.value;
  }
  PathFacts facts = parts.Facts(MakeNodeStreamDebits(debit, BoundOf(design, "this user")));
  facts.stream_cost = design.cost();
  return std::make_unique<JointPath>(std::move(facts), parts.Intake(WindowIntake()),
                                     std::move(noise), joint);
}

Path MakeSparse(const Parts& parts, const Fliphat& model) {
  BANDANA_ASSIGN_OR_RETURN(KeyedNoise noise, parts.Noise());
  PathFacts facts = parts.Facts(
      MakeNodeStreamDebits({.releases = 1, .rho = model.rho().value},
                           {.steps_max = Fliphat::kRowsMax, .field = "", .whose = "all users"}));
  facts.stream_cost = model.rho();
  return std::make_unique<SparsePath>(std::move(facts), parts.Intake(WindowIntake()),
                                      std::move(noise), model);
}

Path MakeContext(const Parts& parts, const ContextReports& reports) {
  PathFacts facts = parts.Facts(MakeNoDebits());
  facts.event_cost = reports.cost();
  return std::make_unique<ContextPath>(std::move(facts), reports);
}

}  // namespace

// A mechanism has one part, and the path follows from it and from where it is drawn.
Path MakePath(const ModelSpec& model, const InstanceId& instance,
              std::shared_ptr<const NoiseKey> key, const NoiseBinding* binding) {
  const Mechanism& made = *model.public_spec.made;
  const bool on_device = made.drawn_on_device();
  const Parts parts{model, instance, std::move(key), binding};
  if (const auto* contexts = made.contexts()) return MakeContext(parts, *contexts);
  const ServerMechanism& served = *model.mechanism;
  if (const auto* joint = served.joint()) return MakeJoint(parts, *joint);
  if (const auto* sparse = served.sparse()) return MakeSparse(parts, *sparse);
  if (const auto* shaped = served.shaped()) return MakeShaped(parts, *shaped);
  if (const auto* counter = made.counter()) {
    return on_device ? MakeDeviceCounter(parts, *counter) : MakeServerCounter(parts, *counter);
  }
  if (const auto* rewards = made.rewards()) {
    return on_device ? MakeReported(parts, *rewards) : MakeDrawn(parts, *rewards);
  }
  if (made.mode().is_private) return Internal("a private model without a mechanism");
  return MakePublic(parts);
}

}  // namespace bandana
