// A model's configuration as checked domain values, from ModelConfig: for its server.
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
#include "common/bandits/bco/domain.h"
#include "common/bandits/coupling.h"
#include "common/bandits/effects/effects_model.h"
#include "common/bandits/graph.h"
#include "common/bandits/model.h"
#include "common/design/seen_bounds.h"
#include "common/promise/field_checks.h"
#include "common/promise/public_spec.h"
#include "common/ranking/effect_key.h"

namespace bandana {

class SelectionRule;
class ServerMechanism;
// The server's part of models without privacy.
std::shared_ptr<const ServerMechanism> NoServerMechanism();

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
  bool learn_scales = false;       // the prior variances are where the scales begin
  bool weights = false;            // each effect is multiplied by a number that is learnt
  bool weights_open = false;       // the configuration leaves open whether
  absl::Duration free_after;       // that effects are kept of an arm or group that is gone
  std::uint32_t cold_events = 0;   // arms with fewer events are cold; 0: no arm is
  std::optional<SeenBounds> seen;  // of arms that users were shown; none: they are not kept
};

// The decision log that a model keeps.
struct DecisionLogSpec {
  absl::Duration keep;          // no line is older
  std::uint64_t bytes_max = 0;  // of its files
  bool contexts = false;        // context values, and features of arms that are not the catalogue's
  int arms_max = 0;             // that are kept of one decision
};

struct ModelSpec {
  PublicSpec public_spec;
  // The server's side of the mechanism in force, beside public_spec.made. Never null. Whoever
  // changes a field makes both again (MakeMechanisms).
  std::shared_ptr<const ServerMechanism> mechanism = NoServerMechanism();
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
  std::optional<DecisionLogSpec> decision_log;  // none: decisions are not kept
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
// ParseModelConfig with AUTO's choice left to a planner; files are read once.
std::optional<ModelSpec> ParseModelConfig(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, const MechanismPlanner& planner,
                                          std::vector<ConfigError>& errors);

// From a configuration, or the default where it gives none.
double RewardStddev(const v1::ModelConfig& config);
double PriorStddev(const v1::ModelConfig& config);

// Coupling for a replacement graph of the same model (PutGraph). Errors: INVALID_ARGUMENT.
absl::StatusOr<Coupling> MakeCoupling(const v1::ModelConfig& config, const v1::Graph& graph,
                                      int dimension);

}  // namespace bandana
