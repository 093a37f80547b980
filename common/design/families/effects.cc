#include <algorithm>
#include <cmath>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/bandits/effects/effects_posterior.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/families/families.h"
#include "common/design/families/seen_config.h"
#include "common/design/files/group_names.h"
#include "common/design/server_mechanism_table.h"
#include "common/design/wire_messages.h"

namespace bandana {
namespace {

constexpr int kEffectsMax = 64;
constexpr std::uint64_t kUsersDefault = 1'000'000;
constexpr std::uint64_t kUsersMax = 10'000'000;
constexpr std::uint64_t kPairsDefault = 1'000'000;
constexpr std::uint64_t kPairsMax = 100'000'000;
constexpr absl::Duration kFreeAfterDefault = absl::Hours(720);
constexpr absl::Duration kFreeAfterMax = absl::Hours(8760);

// Default scales, for rewards in [0, 1] (docs/design/effect_weights.md, "Scales").
constexpr double kRewardVariance = 0.1;
constexpr double kAlpha = 0.2;
constexpr double kEverybodyScale = 0.1;
constexpr double kUserGroupsScale = 0.08;  // of all of them together
constexpr double kUserScale = 0.02;
constexpr double kArmScale = 0.03;
constexpr double kPairScale = 0.01;
constexpr double kStandardPairScale = 0.1;  // weights hold it in check

constexpr double kHalfLifeMax = 1e6;  // events; beyond it a step is less than a float can tell

// The field `scales` of an identity.
constexpr char kScales[] = "scales";
constexpr char kDeclared[] = "declared";
constexpr char kLearnt[] = "learnt";
constexpr char kWeighted[] = "weighted";

void SetWeights(bool weights, ModelSpec& spec) {
  spec.effects->weights = weights;
  v1::EffectWeights& said = *spec.config.mutable_effects()->mutable_weights();
  weights ? said.clear_none() : said.set_none(true);
}

// Weights would have nothing to tell such effects apart by.
void CheckKeysDiffer(const EffectsSpec& effects, const FieldChecks& checks) {
  for (std::size_t t = 0; t < effects.terms.size(); ++t) {
    const EffectTerm& term = effects.terms[t];
    const auto same = [&](const EffectTerm& other) {
      return other.scope == term.scope && other.effect.vector == term.effect.vector;
    };
    const auto first = std::find_if(effects.terms.begin(), effects.terms.end(), same);
    if (first - effects.terms.begin() == static_cast<std::ptrdiff_t>(t)) continue;
    checks.Add(absl::StrCat("effects.effects[", t, "].keys"),
               absl::StrCat("are those of effect ", first->effect.name,
                            ": weights cannot tell the two apart"));
  }
}

class Effects final : public Family {
 public:
  std::string_view name() const override { return "effects"; }
  Scope scope() const override {
    return {.plural = "models of effects",
            .modes = {Mode::kNonPrivate, Mode::kLocalReward, Mode::kCentralReward},
            .keeps =
                "their beliefs are learnt in one pass, without sums that could fade: give an "
                "effect a half_life of its own"};
  }
  Defaults defaults(const RewardRange& range) const override {
    return {.reward_stddev = std::sqrt(kRewardVariance) * (range.max - range.min), .alpha = kAlpha};
  }
  void Check(const ModelSpec& spec, const FieldChecks& checks) const override {
    if (spec.config.prior_stddev() != 0) {
      checks.Add("prior_stddev", "is not for models of effects: each has a prior_variance");
    }
    if (spec.bandit.exploration.kind == ExplorationRule::Kind::kConfidence) {
      checks.Add("exploration.confidence",
                 "is not for models of effects, whose widths are no bounds: use alpha");
    }
    if (!spec.effects->weights) return;
    if (spec.effects->learn_scales) {
      checks.Add("effects.weights", "and learn_scales exclude each other: weights do more");
    }
    CheckKeysDiffer(*spec.effects, checks);
  }
  void Complete(ModelSpec& spec) const override {
    if (!spec.effects->weights_open) return;
    const bool fit =
        !spec.effects->learn_scales && !ServerRowOf(spec.public_spec).windows_of_widths;
    SetWeights(fit, spec);
  }
  void KeepMade(const IdentityFieldList& stored, ModelSpec& spec) const override {
    if (!spec.effects->weights_open) return;
    const auto scales = std::find_if(stored.begin(), stored.end(),
                                     [](const auto& field) { return field.first == kScales; });
    SetWeights(scales != stored.end() && scales->second == kWeighted, spec);
  }
  IdentityFieldList IdentityFields(const ModelSpec& spec) const override {
    const EffectsSpec& effects = *spec.effects;
    const auto one = [](std::string* out, const EffectTerm& term) {
      absl::StrAppendFormat(out, "%s/%d:%d/%s/%.17g", term.effect.name, term.scope.user,
                            term.scope.arm, term.effect.vector ? "vector" : "constant",
                            term.effect.prior_variance);
      if (term.effect.half_life > 0) absl::StrAppend(out, "/half_life ", term.effect.half_life);
    };
    return {{"effects", absl::StrJoin(effects.terms, ",", one)},
            {kScales, effects.weights        ? kWeighted
                      : effects.learn_scales ? kLearnt
                                             : kDeclared},
            {"user_groups", absl::StrJoin(effects.user_groups, ",")},
            {"arm_groups", absl::StrJoin(effects.arm_groups, ",")}};
  }
  Weighed Weigh(const RewardEvent& event) const override {
    return {.reward = event.value, .variance = event.variance};
  }
  std::size_t key_parts(const ModelSpec& spec) const override {
    return 2 + spec.effects->user_groups.size() + spec.effects->arm_groups.size();
  }
  std::string Note(const ModelSpec& spec) const override {
    if (spec.public_spec.guarantee.empty()) return "";
    return "groups of users and arms, and fields of the catalogue, must not be computed from "
           "private reactions: nothing protects what they say";
  }
  // A device has features of arms, and a mean and a variance of each.
  absl::Status CheckRankedByDevices(const ModelSpec& spec) const override {
    for (const EffectTerm& term : spec.effects->terms) {
      if (!IsMoreThanShare(term.effect, term.scope)) continue;
      return FailedPrecondition(
          "effect ", term.effect.name, " is ",
          term.effect.vector ? "of the features of each arm" : "of pairs of users and arms",
          ": arms are ranked by the server");
    }
    return absl::OkStatus();
  }
  absl::Status CheckArmEffects(const ModelSpec& spec) const override {
    BANDANA_RETURN_IF_ERROR(CheckRankedByDevices(spec));
    const auto is_of_arms = [](const EffectTerm& term) {
      return term.scope.arm != EffectScope::kNone;
    };
    const std::vector<EffectTerm>& terms = spec.effects->terms;
    if (std::any_of(terms.begin(), terms.end(), is_of_arms)) return absl::OkStatus();
    return FailedPrecondition("the model has no effects of arms");
  }
};

bool IsName(std::string_view name) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= std::size_t{kGroupNameBytesMax} &&
         std::all_of(name.begin(), name.end(), legal);
}

std::string WrongName(std::string_view name) {
  return absl::StrCat("must be 1 to ", kGroupNameBytesMax,
                      " lower-case letters, digits, hyphens or underscores, got ", name.size(),
                      " bytes");
}

using Strings = google::protobuf::RepeatedPtrField<std::string>;

std::vector<std::string> ParseGroups(std::string_view field, const Strings& names,
                                     const FieldChecks& checks) {
  if (names.size() > kGroupsMax) {
    checks.Add(field, absl::StrCat("must be at most ", kGroupsMax, " names, got ", names.size()));
    return {};
  }
  std::vector<std::string> groups;
  for (const std::string& name : names) {
    const absl::Status legal = CheckGroupName(name);
    if (!legal.ok()) checks.Add(field, std::string(legal.message()));
    if (std::find(groups.begin(), groups.end(), name) != groups.end()) {
      checks.Add(field, absl::StrCat("has ", name, " twice"));
    }
    groups.push_back(name);
  }
  return groups;
}

// Position in the parts of a user or an arm (EffectScope).
int PartOf(std::string_view field, const std::string& group, const std::vector<std::string>& groups,
           std::string_view declared, const FieldChecks& checks) {
  const auto found = std::find(groups.begin(), groups.end(), group);
  if (found == groups.end()) {
    checks.Add(field, absl::StrCat("must be one of ", ToAbsl(declared), ", got ",
                                   IsName(group) ? group : "no name"));
  }
  return 1 + static_cast<int>(found - groups.begin());
}

void AddKey(const v1::EffectKey& key, const EffectsSpec& effects, EffectScope& scope,
            const FieldChecks& checks) {
  const auto claim = [&](int& side, int part) {
    if (side != EffectScope::kNone) {
      checks.Add("of", "has two keys of the same side: a pair is of a user's and an arm's");
    }
    side = part;
  };
  switch (key.of_case()) {
    case v1::EffectKey::kUser:
      if (!key.user()) checks.Add("user", "must be true where it is given");
      return claim(scope.user, 0);
    case v1::EffectKey::kArm:
      if (!key.arm()) checks.Add("arm", "must be true where it is given");
      return claim(scope.arm, 0);
    case v1::EffectKey::kUserGroup:
      return claim(scope.user, PartOf("user_group", key.user_group(), effects.user_groups,
                                      "user_groups", checks));
    case v1::EffectKey::kArmGroup:
      return claim(scope.arm,
                   PartOf("arm_group", key.arm_group(), effects.arm_groups, "arm_groups", checks));
    case v1::EffectKey::OF_NOT_SET:
      return checks.Add("of", "must name a user, user_group, arm or arm_group");
  }
}

// For rewards in [0, 1]; `groups`: how many effects of user groups there are.
double DefaultScale(const EffectScope& scope, int groups) {
  if (scope.user != EffectScope::kNone && scope.arm != EffectScope::kNone) return kPairScale;
  if (scope.arm != EffectScope::kNone) return kArmScale;
  if (scope.user == EffectScope::kNone) return kEverybodyScale;
  return scope.user == 0 ? kUserScale : kUserGroupsScale / std::max(groups, 1);
}

void AddStandard(const v1::StandardEffects& given, double squared_range, EffectsSpec& out) {
  const auto add = [&](std::string name, bool vector, EffectScope scope) {
    out.terms.push_back({.effect = {.name = std::move(name), .vector = vector}, .scope = scope});
  };
  add("shared", true, {});
  add("constant", false, {});
  for (std::size_t g = 0; g < out.user_groups.size(); ++g) {
    add(absl::StrCat("group_", out.user_groups[g]), true, {.user = 1 + static_cast<int>(g)});
  }
  add("user", true, {.user = 0});
  add("arm", false, {.arm = 0});
  if (!given.pairs()) return;
  add("pair", false, {.user = 0, .arm = 0});
  out.terms.back().effect.prior_variance = squared_range * kStandardPairScale;
  out.terms.back().effect.bounded = true;
}

void AddListed(const v1::EffectsCoupling& effects, EffectsSpec& out, const FieldChecks& checks) {
  if (effects.effects_size() > kEffectsMax) {
    checks.Add("effects", absl::StrCat("must be at most ", kEffectsMax, " effects, got ",
                                       effects.effects_size()));
    return;
  }
  for (int i = 0; i < effects.effects_size(); ++i) {
    const v1::Effect& given = effects.effects(i);
    const FieldChecks inside = checks.Inside(absl::StrCat("effects[", i, "]"));
    EffectTerm term;
    term.effect.name = given.name();
    if (!IsName(given.name())) inside.Add("name", WrongName(given.name()));
    for (const EffectTerm& other : out.terms) {
      if (other.effect.name == given.name()) {
        inside.Add("name", absl::StrCat("is ", given.name(), ", as another effect's"));
      }
    }
    if (!v1::Effect::Features_IsValid(given.features())) {
      inside.Add("features", absl::StrCat("must be VECTOR or CONSTANT, got ",
                                          static_cast<int>(given.features())));
    }
    term.effect.vector = given.features() != v1::Effect::CONSTANT;
    for (const v1::EffectKey& key : given.keys())
      AddKey(key, out, term.scope, inside.Inside("keys"));
    if (given.prior_variance() != 0) {
      term.effect.prior_variance =
          inside.Positive("prior_variance", given.prior_variance(), kScaleMax * kScaleMax);
    }
    if (given.half_life() != 0) {
      term.effect.half_life = inside.Count("half_life", given.half_life(), 1, kHalfLifeMax);
    }
    term.effect.bounded =
        term.scope.user != EffectScope::kNone && term.scope.arm != EffectScope::kNone;
    out.terms.push_back(std::move(term));
  }
}

void FillScales(double squared_range, EffectsSpec& out) {
  const auto is_group = [](const EffectTerm& term) {
    return term.scope.user > 0 && term.scope.arm == EffectScope::kNone;
  };
  const auto groups = static_cast<int>(std::count_if(out.terms.begin(), out.terms.end(), is_group));
  for (EffectTerm& term : out.terms) {
    if (term.effect.prior_variance != 0) continue;
    term.effect.prior_variance = squared_range * DefaultScale(term.scope, groups);
  }
}

}  // namespace

const Family& EffectsFamily() {
  static const auto& family = *new Effects();
  return family;
}

void ParseEffectsFamily(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                        const FieldChecks& checks) {
  const v1::EffectsCoupling& given = config.effects();
  EffectsSpec& out = spec.effects.emplace();
  out.user_groups = ParseGroups("user_groups", given.user_groups(), checks);
  out.arm_groups = ParseGroups("arm_groups", given.arm_groups(), checks);
  const RewardRange& range = spec.public_spec.reward_range;
  const double squared_range = (range.max - range.min) * (range.max - range.min);
  if (given.has_standard() == (given.effects_size() > 0)) {
    checks.Add("effects", "and standard exclude each other, and one of them is required");
  } else if (given.has_standard()) {
    AddStandard(given.standard(), squared_range, out);
  } else {
    AddListed(given, out, checks);
  }
  out.learn_scales = given.learn_scales();
  out.weights = given.has_weights() && !given.weights().none();
  out.weights_open = given.has_standard() && !given.has_weights();
  FillScales(squared_range, out);
  out.users_max = static_cast<int>(checks.Count(
      "users_max", given.users_max() == 0 ? kUsersDefault : given.users_max(), 1, kUsersMax));
  out.pairs_max = checks.Count(
      "pairs_max", given.pairs_max() == 0 ? kPairsDefault : given.pairs_max(), 1, kPairsMax);
  out.free_after = given.has_free_after() ? checks.Span("free_after", FromProto(given.free_after()),
                                                        absl::ZeroDuration(), kFreeAfterMax)
                                          : kFreeAfterDefault;
  ParseSeen(given, out, checks);
  spec.config.mutable_effects()->clear_users_file();
  if (given.users_file().empty()) return;
  if (files.allowed) {
    out.users_file = ResolvePath(given.users_file(), files.folder);
  } else {
    checks.Add("users_file", "cannot be named here: send the users by PutUsers");
  }
}

std::string EffectsWords(const ModelSpec& spec) {
  const auto word = [](std::string* out, const EffectTerm& term) {
    absl::StrAppendFormat(out, "%s %.3g", term.effect.name, term.effect.prior_variance);
    if (term.effect.half_life > 0) {
      absl::StrAppend(out, " (half-life ", term.effect.half_life, " events)");
    }
  };
  return absl::StrCat("effects and their prior variances",
                      spec.effects->learn_scales ? " at the start: " : ": ",
                      absl::StrJoin(spec.effects->terms, ", ", word),
                      spec.effects->weights ? "; weights are learnt" : "");
}

v1::ModelConfig WithDefaultsOfBefore(v1::ModelConfig config) {
  const bool open = config.effects().has_standard() && !config.effects().has_weights();
  if (open) config.mutable_effects()->mutable_weights()->set_none(true);
  return config;
}

}  // namespace bandana
