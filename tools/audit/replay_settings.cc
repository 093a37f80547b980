#include "tools/audit/replay_settings.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "tools/audit/config_fields.h"

namespace bandana::audit {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kAll[] = "all";
constexpr char kFixed[] = "in the identity";
constexpr char kInLog[] = "entries hold what they were admitted with";
constexpr char kAdmission[] = "an entry was admitted already";
constexpr char kAfter[] = "of what is computed from releases";
constexpr char kFile[] = "a file of these entries: read into them before the model sees either";

const std::vector<Setting>& Table() {
  static const std::vector<Setting>& table = *new std::vector<Setting>{
      {"name", "name: 'other'", "", "", "", "names the folder alone"},
      {"dimension", "dimension: 7", "", "", kAll, kFixed},
      {"feature_l2_max", "feature_l2_max: 2", "", "", "blt tree honaker epochs shaped pooled",
       kInLog},
      {"feature_l2_max", "feature_l2_max: 0.25", "", "", "blt tree honaker epochs shaped pooled",
       kInLog},
      {"feature_out_of_range", "feature_out_of_range: REJECT", "", "", "joint", kAdmission},
      {"reward_min", "reward_min: -0.5", "", "", kAll, kFixed},
      {"reward_min", "reward_min: -1.5 reward_max: 0.5", "", "", kAll, kFixed},
      {"reward_max", "reward_max: 2", "", "", kAll, kFixed},
      {"reward_out_of_range", "reward_out_of_range: REJECT", "", "", kAll, "no private model"},
      {"reward_binary", "reward_binary: true", "", "", kAll, kFixed},

      {"shared", "shared {}", "", "!shared", kAll, kFixed},
      {"independent.users_max", "independent { users_max: 9 }", "", "independent", "", kAdmission},
      {"independent.users_max", "independent {}", "", "!independent", kAll, kFixed},
      {"colin.graph.kind",
       "colin { graph { kind: INFLUENCE users: 3 rows: [0, 1, 2] columns: [0, 1, 2] weights: [1, "
       "1, 1] } }",
       "colin", "colin", kAll, "shaped counters fix their graph"},
      {"colin.graph.file", "", "", "", "", kFile},
      {"colin.graph.users",
       "colin { graph { users: 4 rows: [3, 0] columns: [3, 3] weights: [1, 0.5] } }", "", "colin",
       kAll, kFixed},
      {"colin.graph.rows", "colin { graph { rows: 0 columns: 2 weights: 0.5 } }", "", "colin", kAll,
       "shaped counters fix their graph"},
      {"colin.graph.columns", "colin { graph { rows: 2 columns: 0 weights: 0.25 } }", "", "colin",
       kAll, "shaped counters fix their graph"},
      {"colin.graph.weights", "colin { graph { rows: 0 columns: 2 weights: 0.125 } }", "", "colin",
       kAll, "shaped counters fix their graph"},
      {"colin.users.file", "", "", "", "", kFile},
      {"colin.users.reject", "colin { users { reject: true } }", "", "colin", "", kAdmission},
      {"colin.users.cold_start_node", "colin { users { cold_start_node: 1 } }", "", "colin", "",
       kAdmission},
      {"colin.users.ids", "colin { users { ids: ['a', 'b'] nodes: [0, 1] } }", "", "colin", "",
       kInLog},
      {"colin.users.nodes", "colin { users { ids: ['a', 'b'] nodes: [2, 0] } }", "", "colin", "",
       kInLog},
      {"goblin.graph.kind", "goblin { graph { kind: INFLUENCE } }", "", "goblin", kAll,
       "of CoLin alone"},
      {"goblin.graph.file", "", "", "", "", kFile},
      {"goblin.graph.users",
       "goblin { graph { users: 4 rows: [3, 0] columns: [3, 3] weights: [1, 0.5] } }", "", "goblin",
       kAll, kFixed},
      {"goblin.graph.rows", "goblin { graph { rows: 0 columns: 2 weights: 0.5 } }", "", "goblin",
       "shaped", kAfter},
      {"goblin.graph.columns", "goblin { graph { rows: 2 columns: 0 weights: 0.25 } }", "",
       "goblin", "shaped", kAfter},
      {"goblin.graph.weights", "goblin { graph { rows: 0 columns: 2 weights: 0.125 } }", "",
       "goblin", "shaped", kAfter},
      {"goblin.users.file", "", "", "", "", kFile},
      {"goblin.users.reject", "goblin { users { reject: true } }", "", "goblin", "", kAdmission},
      {"goblin.users.cold_start_node", "goblin { users { cold_start_node: 1 } }", "", "goblin", "",
       kAdmission},
      {"goblin.users.ids", "goblin { users { ids: ['a', 'b'] nodes: [0, 1] } }", "", "goblin", "",
       kInLog},
      {"goblin.users.nodes", "goblin { users { ids: ['a', 'b'] nodes: [2, 0] } }", "", "goblin", "",
       kInLog},
      {"goblin.laplacian_weight", "goblin { laplacian_weight: 3 }", "", "goblin", "",
       "the log holds the shape"},
      {"arms.policy", "arms { policy: KL_UCB }", "", "", kAll, "not in a central mode"},
      {"arms.failure_probability", "arms { policy: LIL_UCB failure_probability: 0.1 }", "", "",
       kAll, "not in a central mode"},
      {"sparse.sparsity", "sparse { sparsity: 2 }", "", "", kAll, kFixed},
      {"sparse.context_stddev", "sparse { context_stddev: 2 }", "", "", kAll, kFixed},
      {"sparse.context_abs_max", "sparse { context_abs_max: 2 }", "", "", kAll, kFixed},
      {"points.domain", "points { domain: BOX }", "", "", kAll, "not in a central mode"},
      {"points.radius", "points { radius: 2 }", "", "", kAll, "not in a central mode"},
      {"points.smoothness", "points { smoothness: 2 }", "", "", kAll, "not in a central mode"},
      {"points.horizon", "points { horizon: 9 }", "", "", kAll, "not in a central mode"},
      {"effects.standard.pairs", "effects { standard { pairs: true } }", "", "!effects", kAll,
       kFixed},
      {"effects.effects.name", "effects { effects { name: 'all' } }", "", "!effects", kAll, kFixed},
      {"effects.effects.keys.user", "effects { effects { name: 'all' keys { user: true } } }", "",
       "!effects", kAll, kFixed},
      {"effects.effects.keys.user_group",
       "effects { user_groups: 'plan' effects { name: 'all' keys { user_group: 'plan' } } }", "",
       "!effects", kAll, kFixed},
      {"effects.effects.keys.arm", "effects { effects { name: 'all' keys { arm: true } } }", "",
       "!effects", kAll, kFixed},
      {"effects.effects.keys.arm_group",
       "effects { arm_groups: 'genre' effects { name: 'all' keys { arm_group: 'genre' } } }", "",
       "!effects", kAll, kFixed},
      {"effects.effects.features", "effects { effects { name: 'all' features: CONSTANT } }", "",
       "!effects", kAll, kFixed},
      {"effects.effects.prior_variance", "effects { effects { name: 'all' prior_variance: 2 } }",
       "", "!effects", kAll, kFixed},
      {"effects.effects.half_life", "effects { effects { name: 'all' half_life: 2 } }", "",
       "!effects", kAll, kFixed},
      {"effects.user_groups", "effects { standard {} user_groups: 'plan' }", "", "!effects", kAll,
       kFixed},
      {"effects.arm_groups", "effects { standard {} arm_groups: 'genre' }", "", "!effects", kAll,
       kFixed},
      {"effects.users_file", "", "", "", "", "the users are not in the state"},
      {"effects.users_max", "effects { standard {} users_max: 9 }", "", "!effects", kAll, kFixed},
      {"effects.pairs_max", "effects { standard {} pairs_max: 9 }", "", "!effects", kAll, kFixed},
      {"effects.free_after", "effects { standard {} free_after { seconds: 9 } }", "", "!effects",
       kAll, kFixed},
      {"effects.seen.kept", "effects { standard {} seen { kept { seconds: 99 } } }", "", "!effects",
       kAll, kFixed},
      {"effects.seen.arms_per_user", "effects { standard {} seen { arms_per_user: 9 } }", "",
       "!effects", kAll, kFixed},
      {"effects.seen.users_max", "effects { standard {} seen { users_max: 9 } }", "", "!effects",
       kAll, kFixed},
      {"effects.cold_arms.events", "effects { standard {} cold_arms { events: 9 share: 0.1 } }", "",
       "!effects", kAll, kFixed},
      {"effects.cold_arms.share", "effects { standard {} cold_arms { events: 9 share: 0.2 } }", "",
       "!effects", kAll, kFixed},
      {"effects.learn_scales", "effects { standard {} learn_scales: true }", "", "!effects", kAll,
       kFixed},
      {"effects.weights.none", "effects { standard {} weights { none: true } }", "", "!effects",
       kAll, kFixed},

      {"reward_stddev", "reward_stddev: 0.01 prior_stddev: 0.01", "", "", "sparse", kAfter},
      {"prior_stddev", "prior_stddev: 2", "", "", "", kAfter},
      {"exploration.alpha", "exploration { alpha: 2 }", "", "", "", kAfter},
      {"exploration.alpha_log", "exploration { alpha_log: 2 }", "", "", "shaped pooled", kAfter},
      {"exploration.confidence.failure_probability",
       "exploration { confidence { failure_probability: 0.5 } }", "", "", "shaped pooled", kAfter},
      {"exploration.confidence.theta_l2_max", "exploration { confidence { theta_l2_max: 3 } }", "",
       "", "shaped pooled", kAfter},
      {"link", "link: LOGISTIC", "", "", kAll, "of LOCAL_CONTEXT alone"},
      {"refresh_interval", "refresh_interval { seconds: 1 }", "", "", "", kAfter},

      {"mode", "mode: CENTRAL_REWARD", "", "", "joint", "the same one"},
      {"mode", "mode: LOCAL_REWARD", "", "", kAll, kFixed},
      {"mode", "mode: JOINT", "", "", "central", "the same one"},
      {"privacy.epsilon", "privacy { epsilon: 2 }", "", "", kAll, kFixed},
      {"privacy.delta", "privacy { delta: 2e-6 }", "", "",
       "blt tree honaker epochs shaped pooled sparse", "a pure mechanism has none"},
      {"privacy.mechanism", "privacy { mechanism: REWARD_RANDOMIZER }", "", "privacy.counter", kAll,
       kFixed},
      {"privacy.mechanism", "privacy { mechanism: COUNTER delta: 1e-6 }", "", "!privacy.counter",
       kAll, kFixed},
      // Where users share a node a stored model is opened without it.
      {"privacy.events_per_user_max", "privacy { events_per_user_max: 5 }", "", "", "", kAdmission},
      {"privacy.research", "privacy { research: true }", "", "", "", "a permission"},
      {"privacy.counter.kind", "privacy { counter { kind: EPOCHS } }", "", "privacy.counter",
       "blt tree honaker shaped pooled", kFixed},
      {"privacy.counter.horizon", "privacy { counter { horizon: 100 } }", "", "privacy.counter",
       "blt shaped pooled", "trees and epochs are of steps_max"},
      {"privacy.counter.steps_max", "privacy { counter { steps_max: 512 } }", "", "privacy.counter",
       kAll, kFixed},
      {"privacy.planned_events_per_user", "privacy { planned_events_per_user: 5 }", "", "", "",
       "for AUTO alone"},
      {"reporting.one_per_decision", "reporting { one_per_decision: true }", "reporting",
       "reporting.reward_window", kAll, kFixed},
      {"reporting.reward_window.duration",
       "reporting { reward_window { duration { seconds: 9 } } }", "", "reporting.reward_window", "",
       kInLog},
      {"reporting.reward_window.duration",
       "reporting { reward_window { duration { seconds: 9 } } }", "", "!reporting.reward_window",
       kAll, kFixed},
      {"reporting.reward_window.default_reward",
       "reporting { reward_window { default_reward: -0.5 } }", "", "reporting.reward_window", "",
       kInLog},
      {"reporting.reward_window.grace", "reporting { reward_window { grace { seconds: 99 } } }", "",
       "reporting.reward_window", "", kInLog},
      {"token_lifetime", "token_lifetime { seconds: 7200 }", "", "", "", kAdmission},
      {"decisions_open_max", "decisions_open_max: 1000", "", "", "", kAdmission},
      {"policy.uniform_mix.uniform_share", "policy { uniform_mix { uniform_share: 0.5 } }", "", "",
       kAll, "not in a central mode"},
      {"policy.thompson.draws", "policy { thompson { draws: 9 } }", "", "", kAll,
       "not in a central mode"},
      {"policy.thompson.uniform_share", "policy { thompson { uniform_share: 0.5 } }", "", "", kAll,
       "not in a central mode"},
      {"policy.softmax.temperature", "policy { softmax { temperature: 2 } }", "", "", kAll,
       "not in a central mode"},
      {"policy.inverse_gap.gamma", "policy { inverse_gap { gamma: 9 } }", "", "", kAll,
       "not in a central mode"},
      {"decision_log.keep", "decision_log { keep { seconds: 7200 } }", "", "", kAll,
       "not in a central mode"},
      {"decision_log.bytes_max", "decision_log { bytes_max: 2000000 }", "", "", kAll,
       "not in a central mode"},
      {"decision_log.contexts", "decision_log { contexts: true }", "", "", kAll,
       "not in a central mode"},
      {"decision_log.arms_max", "decision_log { arms_max: 9 }", "", "", kAll,
       "not in a central mode"},
      {"half_life", "half_life { seconds: 7200 }", "", "",
       "blt tree honaker epochs shaped pooled sparse", "entries say when events fade"},
      {"arms_file", "", "", "", "", "the catalogue is not in the state"},
      {"features.bias", "features { bias: true }", "", "", kAll, kFixed},
      {"features.context.name", "features { context { name: 'a' boolean {} } }", "", "", kAll,
       kFixed},
      {"features.context.categorical.values",
       "features { context { name: 'a' categorical { values: 'x' values: 'y' } } }", "", "", kAll,
       kFixed},
      {"features.context.categorical.hash_bits",
       "features { context { name: 'a' categorical { hash_bits: 1 } } }", "", "", kAll, kFixed},
      {"features.context.numeric.low", "features { context { name: 'a' numeric { low: -1 } } }", "",
       "", kAll, kFixed},
      {"features.context.numeric.high", "features { context { name: 'a' numeric { high: 2 } } }",
       "", "", kAll, kFixed},
      {"features.context.numeric.log",
       "features { context { name: 'a' numeric { low: 1 high: 2 log: true } } }", "", "", kAll,
       kFixed},
      {"features.context.cyclic.period", "features { context { name: 'a' cyclic { period: 24 } } }",
       "", "", kAll, kFixed},
      {"features.context.boolean", "features { context { name: 'a' boolean {} } }", "", "", kAll,
       kFixed},
      {"features.context.set.values", "features { context { name: 'a' set { values: 'x' } } }", "",
       "", kAll, kFixed},
      {"features.context.set.hash_bits", "features { context { name: 'a' set { hash_bits: 1 } } }",
       "", "", kAll, kFixed},
      {"features.context.text.hash_bits",
       "features { context { name: 'a' text { hash_bits: 1 } } }", "", "", kAll, kFixed},
      {"features.context.text.ngrams",
       "features { context { name: 'a' text { hash_bits: 1 ngrams: 2 } } }", "", "", kAll, kFixed},
      {"features.context.vector.dimension",
       "features { context { name: 'a' vector { dimension: 6 } } }", "", "", kAll, kFixed},
      {"features.context.vector.l2_max",
       "features { context { name: 'a' vector { dimension: 6 l2_max: 2 } } }", "", "", kAll,
       kFixed},
      {"features.arm.name", "features { arm { name: 'a' boolean {} } }", "", "", kAll, kFixed},
      {"features.arm.categorical.values",
       "features { arm { name: 'a' categorical { values: 'x' values: 'y' } } }", "", "", kAll,
       kFixed},
      {"features.arm.categorical.hash_bits",
       "features { arm { name: 'a' categorical { hash_bits: 1 } } }", "", "", kAll, kFixed},
      {"features.arm.numeric.low", "features { arm { name: 'a' numeric { low: -1 } } }", "", "",
       kAll, kFixed},
      {"features.arm.numeric.high", "features { arm { name: 'a' numeric { high: 2 } } }", "", "",
       kAll, kFixed},
      {"features.arm.numeric.log",
       "features { arm { name: 'a' numeric { low: 1 high: 2 log: true } } }", "", "", kAll, kFixed},
      {"features.arm.cyclic.period", "features { arm { name: 'a' cyclic { period: 24 } } }", "", "",
       kAll, kFixed},
      {"features.arm.boolean", "features { arm { name: 'a' boolean {} } }", "", "", kAll, kFixed},
      {"features.arm.set.values", "features { arm { name: 'a' set { values: 'x' } } }", "", "",
       kAll, kFixed},
      {"features.arm.set.hash_bits", "features { arm { name: 'a' set { hash_bits: 1 } } }", "", "",
       kAll, kFixed},
      {"features.arm.text.hash_bits", "features { arm { name: 'a' text { hash_bits: 1 } } }", "",
       "", kAll, kFixed},
      {"features.arm.text.ngrams", "features { arm { name: 'a' text { hash_bits: 1 ngrams: 2 } } }",
       "", "", kAll, kFixed},
      {"features.arm.vector.dimension", "features { arm { name: 'a' vector { dimension: 6 } } }",
       "", "", kAll, kFixed},
      {"features.arm.vector.l2_max",
       "features { arm { name: 'a' vector { dimension: 6 l2_max: 2 } } }", "", "", kAll, kFixed},
      {"features.crosses.a",
       "features { context { name: 'a' boolean {} } arm { name: 'b' boolean {} } crosses { a: 'a' "
       "b: 'b' } }",
       "", "", kAll, kFixed},
      {"features.crosses.b",
       "features { context { name: 'a' boolean {} } arm { name: 'b' boolean {} } crosses { a: 'a' "
       "b: 'b' } }",
       "", "", kAll, kFixed},
      {"arms_max", "arms_max: 5", "", "", "", "the catalogue is not in the state"},
      {"checkpoint.events", "checkpoint { events: 1 }", "", "", "", "when, not what"},
      {"checkpoint.interval", "checkpoint { interval { seconds: 1 } }", "", "", "",
       "when, not what"},
  };
  return table;
}

bool HasField(const Message& message, std::string_view path) {
  const std::size_t dot = path.find('.');
  const FieldDescriptor* const field =
      message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  BANDANA_CHECK(field != nullptr && !field->is_repeated());
  const Reflection& reflection = *message.GetReflection();
  if (!reflection.HasField(message, field)) return false;
  return dot == std::string_view::npos ||
         HasField(reflection.GetMessage(message, field), path.substr(dot + 1));
}

std::vector<std::string> WordsOf(std::string_view text) {
  return absl::StrSplit(ToAbsl(text), ' ', absl::SkipEmpty());
}

}  // namespace

std::span<const Setting> Settings() { return Table(); }

std::vector<std::string> FieldsOfModelConfig() { return FieldsOf(*v1::ModelConfig::descriptor()); }

absl::Status CheckSettings() {
  std::vector<std::string> rows;
  for (const Setting& setting : Settings()) rows.emplace_back(setting.path);
  return CheckCovered("tools/audit/replay_settings.cc", *v1::ModelConfig::descriptor(), rows);
}

bool Applies(const Setting& setting, const v1::ModelConfig& config) {
  if (setting.change.empty()) return false;
  const std::vector<std::string> conditions = WordsOf(setting.applies);
  return std::all_of(conditions.begin(), conditions.end(), [&](const std::string& condition) {
    const bool absent = condition.front() == '!';
    return HasField(config, std::string_view(condition).substr(absent ? 1 : 0)) != absent;
  });
}

v1::ModelConfig Change(const Setting& setting, const v1::ModelConfig& config) {
  v1::ModelConfig changed = config;
  if (!setting.clear.empty()) {
    const FieldDescriptor* const field =
        changed.GetDescriptor()->FindFieldByName(std::string(setting.clear));
    BANDANA_CHECK(field != nullptr);
    changed.GetReflection()->ClearField(&changed, field);
  }
  v1::ModelConfig change;
  BANDANA_CHECK(
      google::protobuf::TextFormat::ParseFromString(std::string(setting.change), &change));
  changed.MergeFrom(change);
  return changed;
}

Replayed Expected(const Setting& setting, std::string_view model) {
  if (setting.refused_by == kAll) return Replayed::kRefused;
  const std::vector<std::string> words = WordsOf(setting.refused_by);
  const bool refused = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return model.find(word) != std::string_view::npos;
  });
  return refused ? Replayed::kRefused : Replayed::kEqual;
}

}  // namespace bandana::audit
