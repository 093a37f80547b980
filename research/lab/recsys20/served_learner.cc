#include "research/lab/recsys20/served_learner.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/design/files/graph_proto.h"
#include "common/design/planner/planner.h"
#include "common/design/planner/served_config.h"
#include "common/design/wire_messages.h"
#include "research/lab/host.h"

namespace bandana::lab {
namespace {

// From this many rows of K on, events reach the posterior in batches, as in a busy server.
constexpr int kBatchRows = 500;
constexpr std::uint64_t kBatchEvents = 32;
// A refresh of all users is dense: after so many events.
constexpr std::uint64_t kShapedRefresh = 20;

class Served final : public Learner {
 public:
  explicit Served(std::unique_ptr<Host> host) : host_(std::move(host)) {}

  const NodePosterior& Posterior(int node) override { return host_->Posterior(node); }
  absl::Status Learn(int node, std::span<const double> x, double reward) override {
    return host_->Learn(node, x, reward);
  }
  std::string mechanism() const override { return MechanismWords(host_->spec()); }

 private:
  std::unique_ptr<Host> host_;
};

// The model's tuning: of a private model that of its epsilon.
Tuning TuningOf(const World& world, const LearnerOptions& options) {
  return world.TuningOf(options.family, RowOf(options.scope).epsilon(options));
}

void SetCoupling(const World& world, Family family, double laplacian_weight,
                 v1::ModelConfig& config) {
  switch (family) {
    case Family::kShared:
      config.mutable_shared();
      return;
    case Family::kIndependent:
      config.mutable_independent()->set_users_max(static_cast<std::uint32_t>(world.nodes()));
      return;
    case Family::kColin:
      *config.mutable_colin()->mutable_graph() = GraphToProto(world.influence());
      return;
    case Family::kGoblin:
      *config.mutable_goblin()->mutable_graph() = GraphToProto(world.similarity());
      config.mutable_goblin()->set_laplacian_weight(laplacian_weight);
      return;
  }
}

std::uint64_t EventsPerUser(const World& world, const LearnerOptions& options) {
  return (options.horizon + world.nodes() - 1) / world.nodes();
}

void SetPrivacy(const World& world, const LearnerOptions& options, const ServedMechanism& mechanism,
                v1::Privacy& privacy) {
  privacy.set_research(true);
  privacy.set_epsilon(options.epsilon.value);
  privacy.set_mechanism(mechanism.id);
  privacy.set_planned_events_per_user(EventsPerUser(world, options));
  if (mechanism.approximate) privacy.set_delta(options.delta.value);
  if (mechanism.counter == v1::COUNTER_KIND_UNSPECIFIED) return;
  v1::CounterPolicy& counter = *privacy.mutable_counter();
  counter.set_kind(mechanism.counter);
  counter.set_horizon(mechanism.pooled ? options.horizon : EventsPerUser(world, options));
  counter.set_steps_max(counter.horizon());
}

// A user's counter of each kind, best predicted first.
absl::StatusOr<ServedMechanism> BestCounter(const World& world, const LearnerOptions& options,
                                            const ServedMechanism& asked) {
  BANDANA_ASSIGN_OR_RETURN(const PlanRequest request, PlanRequestOf(world, options));
  BANDANA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request));
  for (const PlanCandidate& candidate : plan.candidates) {
    if (ToProto(candidate.mechanism) != asked.id || !candidate.excluded.empty()) continue;
    ServedMechanism chosen = asked;
    chosen.counter = ToProto(candidate.counter);
    if (chosen.counter != v1::COUNTER_KIND_UNSPECIFIED) return chosen;
  }
  return InvalidArgument("no counter can be used: ", plan.candidates.back().excluded);
}

absl::StatusOr<ServedMechanism> Planned(const World& world, const LearnerOptions& options,
                                        const ServedMechanism& asked);

using ChooseMechanism = absl::StatusOr<ServedMechanism> (*)(const World& world,
                                                            const LearnerOptions& options,
                                                            const ServedMechanism& asked);
struct LabelRow {
  std::string_view label;
  ServedMechanism mechanism;
  ChooseMechanism choose = nullptr;  // in its place, from it
};
constexpr LabelRow kLabels[] = {
    {"non-private", {.whole_range = true}},
    {"randomizer", {v1::REWARD_RANDOMIZER}},
    {"centred", {.id = v1::CENTRED_RANDOMIZER, .whole_range = true}},
    {"shaped", {.id = v1::SHAPED_COUNTER, .approximate = true, .counter = v1::BLT, .pooled = true}},
    {"counter", {.id = v1::COUNTER, .approximate = true}, BestCounter},
    {"central", {.id = v1::COUNTER, .approximate = true}, BestCounter},
    {"auto", {.id = v1::AUTO, .approximate = true}, Planned},
    {"proven", {.id = v1::AUTO, .approximate = true}, Planned},
};

absl::StatusOr<ServedMechanism> Planned(const World& world, const LearnerOptions& options,
                                        const ServedMechanism&) {
  std::vector<ConfigError> errors;
  const v1::ModelConfig config =
      ConfigOf(world, options, {.id = v1::AUTO, .approximate = options.delta.value > 0});
  const std::optional<ModelSpec> spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
  if (!spec) return InvalidArgument(errors.front().field, " ", errors.front().message);
  const v1::Privacy& privacy = spec->config.privacy();
  ServedMechanism chosen{privacy.mechanism()};
  for (const LabelRow& row : kLabels) {
    if (row.mechanism.id == chosen.id) chosen = row.mechanism;
  }
  chosen.counter = privacy.counter().kind();
  return chosen;
}

}  // namespace

absl::StatusOr<PlanRequest> PlanRequestOf(const World& world, const LearnerOptions& options) {
  const EnvironmentInfo& info = world.info();
  const Tuning tuning = world.TuningOf(options.family, options.epsilon);
  PlanRequest request;
  request.mode = FromProto(RowOf(options.scope).mode);
  request.dimension = info.dimension;
  request.feature_l2_max = info.feature_l2_max;
  request.rewards = EnforcedRange(world, options);
  request.rewards_binary = info.reward_binary;
  request.reward_stddev = tuning.reward_stddev;
  request.prior_stddev = tuning.prior_stddev;
  BANDANA_ASSIGN_OR_RETURN(request.coupling,
                           world.MakeCoupling(options.family, tuning.laplacian_weight));
  request.events_per_node = EventsPerUser(world, options);
  request.epsilon = options.epsilon;
  request.delta = options.delta;
  return request;
}

RewardRange EnforcedRange(const World& world, const LearnerOptions& options) {
  const EnvironmentInfo& info = world.info();
  const double share = TuningOf(world, options).reward_share * options.clip_factor;
  const double middle = (info.reward_min + info.reward_max) / 2;
  const double half = share * (info.reward_max - info.reward_min) / 2;
  return {middle - half, middle + half};
}

v1::ModelConfig ConfigOf(const World& world, const LearnerOptions& options,
                         const ServedMechanism& mechanism) {
  const EnvironmentInfo& info = world.info();
  const Tuning tuning = TuningOf(world, options);
  const RewardRange whole{info.reward_min, info.reward_max};
  const RewardRange range = mechanism.whole_range ? whole : EnforcedRange(world, options);
  v1::ModelConfig config;
  config.set_name("lab");
  config.set_dimension(static_cast<std::uint32_t>(info.dimension));
  config.set_feature_l2_max(info.feature_l2_max);
  config.set_reward_min(range.min);
  config.set_reward_max(range.max);
  config.set_reward_binary(info.reward_binary);
  config.set_reward_stddev(tuning.reward_stddev);
  config.set_prior_stddev(tuning.prior_stddev * std::sqrt(options.prior_factor));
  config.mutable_exploration()->set_alpha(tuning.alpha * options.alpha_factor);
  config.mutable_refresh_interval();  // the host's rule
  SetCoupling(world, options.family, tuning.laplacian_weight, config);
  config.set_mode(RowOf(options.scope).mode);
  if (RowOf(options.scope).epsilon(options)) {
    SetPrivacy(world, options, mechanism, *config.mutable_privacy());
    config.mutable_reporting()->set_one_per_decision(true);
  }
  return config;
}

absl::StatusOr<ServedMechanism> MechanismOf(std::string_view label, const World& world,
                                            const LearnerOptions& options) {
  for (const LabelRow& row : kLabels) {
    if (row.label != label) continue;
    if (row.choose != nullptr) return row.choose(world, options, row.mechanism);
    return row.mechanism;
  }
  return InvalidArgument("no served model is labelled `", ToAbsl(label), "`");
}

absl::StatusOr<std::unique_ptr<Learner>> MakeServed(const World& world,
                                                    const LearnerOptions& options,
                                                    const ServedMechanism& mechanism) {
  RefreshRule refresh;
  if (world.nodes() * world.info().dimension >= kBatchRows) refresh.events = kBatchEvents;
  if (mechanism.pooled) refresh.events = kShapedRefresh;
  BANDANA_ASSIGN_OR_RETURN(
      std::unique_ptr<Host> host,
      Host::Create(ConfigOf(world, options, mechanism), options.seed, refresh));
  return std::make_unique<Served>(std::move(host));
}

}  // namespace bandana::lab
