// A model's configuration as checked domain values, from ModelConfig; and the public part of it,
// from GetModelResponse.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/v1/config.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "common/accounting/types.h"
#include "common/bandits/bco/domain.h"
#include "common/bandits/coupling.h"
#include "common/bandits/effects/effect_key.h"
#include "common/bandits/effects/effects_model.h"
#include "common/bandits/graph.h"
#include "common/bandits/link.h"
#include "common/bandits/model.h"
#include "common/base/sha256.h"
#include "common/mechanisms/reward_range.h"

namespace bandana {

class Mechanism;
class SelectionRule;
// The mechanism of models without privacy.
std::shared_ptr<const Mechanism> NoMechanism();

struct RewardWindowSpec {
  absl::Duration duration;
  double default_reward = 0;
  // Central modes: an event is applied so long after its window's close; else zero.
  absl::Duration grace;
};

// A continual counter's public parameters (docs/design/mechanisms.md#continual-counters).
struct CounterSpec {
  v1::CounterKind kind = v1::BLT;
  std::uint64_t horizon = 0;    // steps that the factorization is tuned for
  std::uint64_t steps_max = 0;  // hard cap of a stream; privacy is calibrated for it
  friend bool operator==(const CounterSpec&, const CounterSpec&) = default;
};

// What device and server must agree on of a mechanism for contexts, beside the fields below; each
// derives it from them.
struct ContextSpec {
  int grid_bits = 0;          // a step of phi is 2^-grid_bits
  Sha256Digest parameters{};  // of the mechanism's own text
  friend bool operator==(const ContextSpec&, const ContextSpec&) = default;
};

// What bears on privacy and on the device's duties; equal on server and client, bound by its hash.
struct PublicSpec {
  std::string name;
  int dimension = 0;
  double feature_l2_max = 1;
  bool reject_features = false;  // out of range: reject instead of clip
  RewardRange reward_range;
  bool reward_binary = false;
  v1::Mode mode = v1::NON_PRIVATE;
  v1::Mechanism mechanism =
      v1::MECHANISM_UNSPECIFIED;  // the one in force; unspecified when non-private
  Epsilon epsilon;
  Delta delta;
  std::optional<CounterSpec> counter;  // exactly with mechanism COUNTER
  std::optional<ContextSpec> context;  // exactly with mode LOCAL_CONTEXT
  Link link = Link::kLinear;           // another one only with mode LOCAL_CONTEXT
  std::string unit_of_privacy;         // "event" or ""
  std::string guarantee;               // "proven", "published" or ""
  std::uint64_t events_per_user_max = 0;
  bool research = false;
  bool one_per_decision = false;
  std::optional<RewardWindowSpec> reward_window;
  absl::Duration token_lifetime;

  // The mechanism in force, made from the fields above; on the server also from the rest of the
  // configuration. Never null. Whoever changes a field makes it again (MakeMechanism).
  std::shared_ptr<const Mechanism> made = NoMechanism();

  // SHA-256 of the canonical text of every field above `made` (docs/formats.md).
  Sha256Digest PolicyHash() const;
  // The default that missing rewards map to: the window's, else reward_min.
  double default_reward() const {
    return reward_window ? reward_window->default_reward : reward_range.min;
  }
};

// Checks ranges and consistency again on the device. Errors: INVALID_ARGUMENT; a hash that does not
// match the fields is FAILED_PRECONDITION.
absl::StatusOr<PublicSpec> ParsePublicSpec(const v1::GetModelResponse& response);
// Without what is no part of the policy: posterior_version and epoch.
v1::GetModelResponse ToProto(const PublicSpec& spec);

// A model of arms without features.
struct ArmsSpec {
  v1::ArmsFamily::Policy policy = v1::ArmsFamily::TSALLIS_INF;
  double failure_probability = 0.05;  // LIL_UCB
};

// A model of one sparse parameter.
struct SparseSpec {
  int sparsity = 0;  // [1, dimension]
  double context_stddev = 1;
  double context_abs_max = 0.5;
};

// A model of continuous actions.
struct PointsSpec {
  ConvexDomain domain;
  double smoothness = 1;
  std::uint64_t horizon = 0;  // 0: anytime
};

// One effect of a model with effects, and whose it is.
struct EffectTerm {
  Effect effect;
  EffectScope scope;
};

// A model of effects of users, their groups and arms (docs/design/effects.md).
struct EffectsSpec {
  std::vector<EffectTerm> terms;
  // Names; a user or an arm has one value per name, or none.
  std::vector<std::string> user_groups;
  std::vector<std::string> arm_groups;
  std::string users_file;  // resolved path or empty
  int users_max = 0;       // whose groups are kept
  std::uint64_t pairs_max = 0;
  bool learn_scales = false;  // the prior variances are where the scales begin
  absl::Duration free_after;  // that effects are kept of an arm or group that is gone
};

struct ModelSpec {
  PublicSpec public_spec;
  bool reject_rewards = false;
  Coupling coupling = Coupling::Shared();
  // At most one of the four, instead of a linear model.
  std::optional<ArmsSpec> arms;  // d arms, the unit vectors
  std::optional<SparseSpec> sparse;
  std::optional<PointsSpec> points;
  std::optional<EffectsSpec> effects;
  BanditModel::Options bandit;  // observation_variance includes a randomizer's, not a counter's
  double reward_stddev = 1;     // sigma_r alone
  std::unordered_map<std::string, int> users;  // graph models; empty = decimal node numbers
  std::optional<int> cold_start_node;
  // How arms are chosen from their scores; null: the best by UCB first.
  std::shared_ptr<const SelectionRule> policy;
  std::uint64_t decisions_open_max = 0;
  int arms_max = 0;
  absl::Duration refresh_interval;  // counters, contexts: between two refreshes of the posterior
  // After this time an event counts half; zero: events count for ever (docs/design/forgetting.md).
  absl::Duration half_life;
  // Noisy contexts (docs/design/mechanisms.md#noise-aware-posterior): the bound on |theta| that
  // scales S's noise in the residual. exploration.confidence.theta_l2_max where it is given, else
  // sqrt(d) prior_stddev, the root mean square of |theta| under the prior. With a curved link this,
  // the prior and the confidence bound are of what the reports are linear in: its slope at 0 times
  // theta.
  double theta_l2_max = 0;
  std::uint64_t checkpoint_events = 0;
  absl::Duration checkpoint_interval;
  std::string arms_file;   // resolved path or empty
  std::string plan;        // why AUTO took this mechanism, several lines; else empty
  v1::ModelConfig config;  // as given, files inlined or dropped
};

// One mistake in a configuration: the field's path inside the message, e.g. `privacy.epsilon`.
struct ConfigError {
  std::string field;
  std::string message;
};

// AUTO's choice: the configuration's privacy with a mechanism named in it, and why, several lines.
struct PlannedMechanism {
  v1::Privacy privacy;
  std::string text;
};
// Chooses for a specification in which AUTO stands for the first mechanism that may be; nothing:
// that one stays. Errors: INVALID_ARGUMENT none can run.
using MechanismPlanner = absl::StatusOr<std::optional<PlannedMechanism>> (*)(const ModelSpec& spec);

// Validates everything and reports every mistake, not only the first. Reads the graph and users
// files, relative to `folder`; with `allow_files` false (Admin.CreateModel) a named file is a
// mistake. Returns nullopt exactly when errors is not empty.
std::optional<ModelSpec> ParseModelConfig(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, std::vector<ConfigError>& errors);
// The same with AUTO's choice left to a planner; files are read once.
std::optional<ModelSpec> ParseModelConfig(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, const MechanismPlanner& planner,
                                          std::vector<ConfigError>& errors);

// Coupling for a replacement graph of the same model (PutGraph). Errors: INVALID_ARGUMENT.
absl::StatusOr<Coupling> MakeCoupling(const v1::ModelConfig& config, const v1::Graph& graph,
                                      int dimension);

}  // namespace bandana
