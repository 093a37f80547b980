#include "common/design/identity.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/design/coupling_message.h"
#include "common/design/coupling_table.h"
#include "common/design/family.h"
#include "common/design/server_mechanism.h"
#include "common/design/user_nodes.h"
#include "common/features/schema.h"
#include "common/promise/event_rule.h"

namespace bandana {
namespace {

constexpr char kHeader[] = "bandana-model 1";
constexpr char kHeaderNoise[] = "bandana-model 2";  // with kNoise
constexpr char kNoise[] = "noise";
constexpr char kFeatureBound[] = "feature_l2_max";
constexpr char kFeatures[] = "features";  // of models with a schema

std::string Exact(double value) { return absl::StrFormat("%.17g", value); }

// The field of ModelConfig that says it; names of an identity never change.
std::string_view FieldThatSays(std::string_view name) {
  return name == "scales" ? "effects.weights or effects.learn_scales" : name;
}

// "" where there is none.
std::string FieldOf(const Identity& identity, std::string_view name) {
  for (const auto& [field, value] : identity.fixed) {
    if (field == name) return value;
  }
  return "";
}

std::string WithChecksum(std::string text) {
  text += absl::StrCat("sha256 ", ToHex(Sha256Of(text)), "\n");
  return text;
}

}  // namespace

Identity IdentityOf(const ModelSpec& spec, const InstanceId& instance) {
  const PublicSpec& p = spec.public_spec;
  const EventRule events = EventRuleOf(p);
  Identity identity{.instance = instance};
  identity.fixed = {
      {"dimension", absl::StrCat(p.dimension)},
      {"coupling", std::string(CouplingOf(spec.config).name)},
      {"nodes", UserNodesOf(spec).Count(spec)},
      {"mode", ModeName(p.mode)},
      {"mechanism", MechanismName(p.mechanism)},
      {"epsilon", Exact(p.epsilon.value)},
      {"delta", Exact(p.delta.value)},
      {"reward_min", Exact(p.reward_range.min)},
      {"reward_max", Exact(p.reward_range.max)},
      {"reward_binary", p.reward_binary ? "true" : "false"},
      {"event", std::string(events.name)},
  };
  if (p.features != nullptr) identity.fixed.emplace_back(kFeatures, IdentityText(*p.features));
  for (auto& field : FamilyOf(spec).IdentityFields(spec)) {
    identity.fixed.push_back(std::move(field));
  }
  for (auto& field : spec.mechanism->IdentityFields(spec))
    identity.fixed.push_back(std::move(field));
  for (const auto& [name, value] : ModeOf(p.mode).identity)
    identity.fixed.emplace_back(name, value);
  identity.reward_window = events.window_text;
  identity.graph = GraphDigest(spec.config);
  return identity;
}

absl::Status CheckSameModel(const Identity& stored, const Identity& configured) {
  std::vector<std::string> differences;
  for (const auto& field : configured.fixed) {
    // clang 14 captures no structured bindings.
    const std::string& name = field.first;
    const std::string& value = field.second;
    if (name == kFeatures) continue;
    const auto same_name = [&name](const auto& other) { return other.first == name; };
    const auto it = std::find_if(stored.fixed.begin(), stored.fixed.end(), same_name);
    const std::string before = it == stored.fixed.end() ? "nothing" : it->second;
    if (before != value) {
      differences.push_back(absl::StrCat(ToAbsl(FieldThatSays(name)), " is ", before,
                                         " in the stored state and ", value,
                                         " in the configuration"));
    }
  }
  const std::string schema =
      SchemaChange(FieldOf(stored, kFeatures), FieldOf(configured, kFeatures));
  if (!schema.empty()) differences.push_back(absl::StrCat(kFeatures, ": ", schema));
  if (differences.empty()) return absl::OkStatus();
  return InvalidArgument(absl::StrJoin(differences, "; "),
                         ": use another model name, or export what is stored and remove it");
}

void KeepMade(const Identity& stored, ModelSpec& spec) {
  FamilyOf(spec).KeepMade(stored.fixed, spec);
}

Sha256Digest FixedDigest(const Identity& identity) {
  std::string text;
  for (const auto& [name, value] : identity.fixed) absl::StrAppend(&text, name, " ", value, "\n");
  return Sha256Of(text);
}

bool IsFormer(const Identity& stored, const Identity& configured) {
  return FieldOf(stored, kNoise).empty() && !FieldOf(configured, kNoise).empty() &&
         FieldOf(stored, "mode") == FieldOf(configured, "mode");
}

absl::StatusOr<Identity> Renew(const Identity& former, const Identity& configured) {
  if (!FieldOf(configured, kFeatureBound).empty()) {
    return FailedPrecondition(
        "the state of this JOINT model was made by a version that did not keep its feature_l2_max, "
        "so nobody can say which bound its sums are in units of; export the model with the version "
        "that made it, and import it here as a new model");
  }
  Identity renewed = former;
  renewed.fixed.emplace_back(kNoise, FieldOf(configured, kNoise));
  return renewed;
}

Sha256Digest FormerFixedDigest(const Identity& identity) {
  Identity former = identity;
  if (!FieldOf(identity, kNoise).empty()) {
    std::erase_if(former.fixed, [](const auto& field) {
      return field.first == kNoise || field.first == kFeatureBound;
    });
  }
  return FixedDigest(former);
}

std::string FormatIdentity(const Identity& identity) {
  const char* const header = FieldOf(identity, kNoise).empty() ? kHeader : kHeaderNoise;
  std::string text = absl::StrCat(header, "\ninstance ", ToHex(identity.instance), "\n");
  for (const auto& [name, value] : identity.fixed) absl::StrAppend(&text, name, " ", value, "\n");
  absl::StrAppend(&text, "reward_window ", identity.reward_window, "\ngraph ", identity.graph,
                  "\n");
  if (!identity.noise_key.empty()) absl::StrAppend(&text, "noise_key ", identity.noise_key, "\n");
  return WithChecksum(std::move(text));
}

absl::StatusOr<Identity> ParseIdentity(std::string_view text) {
  const std::size_t end = text.rfind("sha256 ");
  if (end == std::string_view::npos || WithChecksum(std::string(text.substr(0, end))) != text) {
    return DataLoss("identity: checksum mismatch");
  }
  const std::vector<std::string> lines = absl::StrSplit(ToAbsl(text.substr(0, end)), '\n');
  const std::string& header = lines.front();
  if (header != kHeader && header != kHeaderNoise) return DataLoss("identity: unknown version");
  Identity identity;
  for (const std::string& line : lines) {
    std::pair<std::string, std::string> field = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (line == header || line.empty()) continue;
    if (field.first == "instance") {
      const std::string bytes = absl::HexStringToBytes(field.second);
      if (bytes.size() != identity.instance.size()) return DataLoss("identity: instance");
      std::ranges::copy(AsBytes(bytes), identity.instance.begin());
    } else if (field.first == "reward_window") {
      identity.reward_window = field.second;
    } else if (field.first == "graph") {
      identity.graph = field.second;
    } else if (field.first == "noise_key") {
      identity.noise_key = field.second;
    } else {
      identity.fixed.push_back(std::move(field));
    }
  }
  return identity;
}

}  // namespace bandana
