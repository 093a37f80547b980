#include "tools/audit/transcript/combination.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/planner/served_config.h"
#include "common/design/wire_messages.h"
#include "common/promise/privacy_rules.h"
#include "google/protobuf/text_format.h"

namespace bandana::audit {
namespace {

struct Model {
  const char* name;
  const char* text;
  const Asking& (*asking)() = AsksInline;
  bool on_device = false;
  int catalogue_arms = 0;
};

// Small counters: what is audited is who learns what, not how much noise there is.
#define BANDANA_AUDIT_COUNTER(kind) "counter { kind: " kind " horizon: 32 steps_max: 128 } "

// Values by name; the derived dimension is 4.
#define BANDANA_AUDIT_SCHEMA                                         \
  "features { context { name: 'hour' numeric { low: -1 high: 1 } } " \
  "arm { name: 'price' numeric { low: -1 high: 1 } } "               \
  "arm { name: 'kind' categorical { values: 'new' values: 'used' } } } "

constexpr Model kLocal[] = {
    {"randomized-response",
     "shared {} mode: LOCAL_REWARD reward_binary: true "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"one-bit",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 0.5 mechanism: REWARD_RANDOMIZER } "},
    {"hybrid",
     "shared {} mode: LOCAL_REWARD reward_min: -1 reward_max: 1 "
     "privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER events_per_user_max: 40 } "},
    {"forgetting",
     "independent {} mode: LOCAL_REWARD half_life { seconds: 3600 } "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"centred",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER } "},
    {"blt",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("BLT") "} "},
    {"tree",
     "shared {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("TREE") "} "},
    {"honaker",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("HONAKER") "} "},
    {"epochs",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("EPOCHS") "} "},
    {"arms",
     "arms { policy: TSALLIS_INF } mode: LOCAL_REWARD "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksCatalogue},
    {"points",
     "points { domain: BALL } mode: LOCAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER "
     "} ",
     AsksPoint},
    {"effects",
     "effects { standard {} user_groups: 'plan' } mode: LOCAL_REWARD "
     "privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } "},
    {"effects-centred",
     "effects { standard {} } mode: LOCAL_REWARD "
     "privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER } "},
    {"thompson",
     "independent {} mode: LOCAL_REWARD policy { thompson { draws: 5 } } "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"effects-softmax",
     "effects { weights {} effects { name: 'shared' half_life: 4 } "
     "effects { name: 'user' keys { user: true } half_life: 3 } "
     "effects { name: 'arm' keys { arm: true } features: CONSTANT half_life: 2 } "
     "effects { name: 'pair' keys { user: true } keys { arm: true } features: CONSTANT } } "
     "mode: LOCAL_REWARD policy { softmax { temperature: 0.5 } } "
     "privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } "},
    {"inverse-gap",
     "independent {} mode: LOCAL_REWARD policy { inverse_gap { gamma: 4 } } "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"learnt-scales",
     "effects { standard {} user_groups: 'plan' learn_scales: true } mode: LOCAL_REWARD "
     "policy { inverse_gap { gamma: 2 } } privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } "},
    {"named",
     "shared {} mode: LOCAL_REWARD " BANDANA_AUDIT_SCHEMA
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksNamed},
    {"centred-mix",
     "independent {} mode: LOCAL_REWARD policy { uniform_mix { uniform_share: 0.4 } } "
     "privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER } "},
    {"on-device",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksInline, /*on_device=*/true},
    {"privunit", "shared {} mode: LOCAL_CONTEXT privacy { epsilon: 2 mechanism: PRIVUNIT } "},
    {"forgetting",
     "shared {} mode: LOCAL_CONTEXT half_life { seconds: 3600 } "
     "privacy { epsilon: 2 mechanism: PRIVUNIT } "},
    {"joint-gaussian",
     "shared {} mode: LOCAL_CONTEXT reward_min: -1 reward_max: 1 "
     "privacy { epsilon: 1 delta: 1e-6 mechanism: JOINT_GAUSSIAN } "},
    {"named",
     "shared {} mode: LOCAL_CONTEXT " BANDANA_AUDIT_SCHEMA
     "privacy { epsilon: 2 mechanism: PRIVUNIT } ",
     AsksNamed},
    {"logistic",
     "shared {} mode: LOCAL_CONTEXT link: LOGISTIC privacy { epsilon: 2 mechanism: PRIVUNIT } "},
};

constexpr Model kCentral[] = {
    {"randomizer",
     "independent {} mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"forgetting",
     "shared {} mode: CENTRAL_REWARD half_life { seconds: 3600 } "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"effects",
     "effects { user_groups: 'plan' weights {} "
     "effects { name: 'plan' keys { user_group: 'plan' } half_life: 4 } "
     "effects { name: 'user' keys { user: true } half_life: 3 } "
     "effects { name: 'arm' keys { arm: true } features: CONSTANT half_life: 2 } "
     "effects { name: 'pair' keys { user: true } keys { arm: true } features: CONSTANT } } "
     "mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"learnt-scales",
     "effects { standard {} learn_scales: true } mode: CENTRAL_REWARD "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"blt",
     "shared {} mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("BLT") "} "},
    {"tree",
     "independent {} mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("TREE") "} "},
    {"honaker",
     "shared {} mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("HONAKER") "} "},
    {"epochs",
     "shared {} mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("EPOCHS") "} "},
    {"shaped",
     "goblin { graph { users: 3 rows: 0 columns: 1 weights: 1 rows: 1 columns: 2 weights: 1 } } "
     "mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "SHAPED_COUNTER " BANDANA_AUDIT_COUNTER("BLT") "} "},
    {"pooled",
     "goblin { graph { users: 3 rows: 0 columns: 1 weights: 1 rows: 1 columns: 2 weights: 1 } } "
     "mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "POOLED_COUNTER " BANDANA_AUDIT_COUNTER("BLT") "} "},
    {"joint-blt",
     "shared {} mode: JOINT reward_min: -1 reward_max: 1 privacy { epsilon: 1 delta: 1e-6 "
     "mechanism: COUNTER " BANDANA_AUDIT_COUNTER("BLT") "} "},
    {"joint-epochs",
     "independent {} mode: JOINT privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER " BANDANA_AUDIT_COUNTER("EPOCHS") "} "},
    {"joint-named",
     "shared {} mode: JOINT " BANDANA_AUDIT_SCHEMA
     "privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER " BANDANA_AUDIT_COUNTER("BLT") "} ",
     AsksNamed},
    {"sparse",
     "sparse { sparsity: 1 } mode: JOINT privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "SPARSE_RELEASE } "},
};
#undef BANDANA_AUDIT_COUNTER

// Some of the arms that are offered are in the catalogue, some are not.
constexpr int kCatalogueArms = 3;
constexpr Model kEffectsOnDevice[] = {
    {"effects-on-device",
     "effects { standard {} user_groups: 'plan' arm_groups: 'genre' } mode: LOCAL_REWARD "
     "privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } ",
     AsksInline, /*on_device=*/true, kCatalogueArms},
    {"effects-centred-on-device",
     "effects { standard {} arm_groups: 'genre' } mode: LOCAL_REWARD "
     "privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER } ",
     AsksInline, /*on_device=*/true, kCatalogueArms},
    {"effects-on-device",
     "effects { standard {} arm_groups: 'genre' } mode: CENTRAL_REWARD "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksInline, /*on_device=*/true, kCatalogueArms},
};

// By rules. A model that keeps the arms that users were shown leaves those out.
constexpr int kRuledArms = 24;
constexpr Model kRuledLocal[] = {
    {"rules",
     "effects { standard {} arm_groups: 'genre' seen { arms_per_user: 4 } "
     "cold_arms { events: 2 share: 0.3 } } mode: LOCAL_REWARD "
     "privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } ",
     AsksUnseen, /*on_device=*/false, kRuledArms},
};
constexpr Model kRuledCentral[] = {
    {"rules",
     "effects { standard {} arm_groups: 'genre' seen { arms_per_user: 4 } } mode: CENTRAL_REWARD "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksUnseen, /*on_device=*/false, kRuledArms},
    {"joint-rules",
     "shared {} mode: JOINT reward_min: -1 reward_max: 1 privacy { epsilon: 1 delta: 1e-6 "
     "mechanism: COUNTER counter { kind: BLT horizon: 32 steps_max: 128 } } ",
     AsksByRules, /*on_device=*/false, kRuledArms},
};

// Callers without the SDK who name decisions, fill slots, and say later what was shown.
constexpr Model kNamed[] = {
    {"slots",
     "independent {} mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER "
     "events_per_user_max: 20 } ",
     AsksSlots},
    {"deferred",
     "independent {} mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksDeferred},
    {"deferred",
     "shared {} mode: JOINT privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER counter { kind: "
     "BLT horizon: 32 steps_max: 128 } } ",
     AsksDeferred},
};

// Models that a second server follows.
constexpr Model kFollowedLocal[] = {
    {"one-bit",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 0.5 mechanism: REWARD_RANDOMIZER } "},
    {"blt",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER "
     "counter { kind: BLT horizon: 32 steps_max: 128 } } "},
    {"privunit", "shared {} mode: LOCAL_CONTEXT privacy { epsilon: 2 mechanism: PRIVUNIT } "},
};
constexpr Model kFollowedCentral[] = {
    {"randomizer",
     "independent {} mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"effects",
     "effects { standard {} user_groups: 'plan' } mode: CENTRAL_REWARD "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"blt",
     "shared {} mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER "
     "counter { kind: BLT horizon: 32 steps_max: 128 } } "},
    {"joint-blt",
     "shared {} mode: JOINT reward_min: -1 reward_max: 1 privacy { epsilon: 1 delta: 1e-6 "
     "mechanism: COUNTER counter { kind: BLT horizon: 32 steps_max: 128 } } "},
};

// Callers who send JSON, and pages that send gRPC-Web.
constexpr Model kByHttp[] = {
    {"randomizer",
     "independent {} mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"effects",
     "effects { standard {} user_groups: 'plan' } mode: CENTRAL_REWARD "
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } "},
    {"joint-blt",
     "shared {} mode: JOINT reward_min: -1 reward_max: 1 privacy { epsilon: 1 delta: 1e-6 "
     "mechanism: COUNTER counter { kind: BLT horizon: 32 steps_max: 128 } } "},
};

// Clients of Personalizer, who name each decision and give values by name.
constexpr Model kOfPersonalizer[] = {
    {"personalizer",
     "shared {} mode: CENTRAL_REWARD " BANDANA_AUDIT_SCHEMA
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksPersonalizer},
    {"personalizer-deferred",
     "independent {} mode: CENTRAL_REWARD " BANDANA_AUDIT_SCHEMA
     "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksPersonalizerLater},
    {"personalizer",
     "shared {} mode: JOINT " BANDANA_AUDIT_SCHEMA
     "privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER counter { kind: "
     "BLT horizon: 32 steps_max: 128 } } ",
     AsksPersonalizer},
};
#undef BANDANA_AUDIT_SCHEMA

// The SDK's slots, which local modes have with a window alone.
constexpr Model kSlotsOfSdk[] = {
    {"one-bit-slots",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 0.5 mechanism: REWARD_RANDOMIZER "
     "events_per_user_max: 11 } ",
     AsksSlotsOfSdk},
    {"centred-slots",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER } ",
     AsksSlotsOfSdk},
    {"blt-slots",
     "independent {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: "
     "COUNTER counter { kind: BLT horizon: 32 steps_max: 128 } } ",
     AsksSlotsOfSdk},
    {"central-slots",
     "independent {} mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ",
     AsksSlotsOfSdk},
};

std::string ModeOf(const Model& model) {
  const std::string_view text = model.text;
  const std::size_t at = text.find("mode: ") + 6;
  return std::string(text.substr(at, text.find(' ', at) - at));
}
bool HidesContextsOf(const Model& model) {
  v1::Mode mode = v1::MODE_UNSPECIFIED;
  return v1::Mode_Parse(ModeOf(model), &mode) && HidesContexts(FromProto(mode));
}

Combination Through(const Model& model, bool window, bool raw) {
  return {.name = absl::StrCat(ModeOf(model), " ", model.name, " ",
                               window ? "window" : "one-per-decision", raw ? " raw" : " sdk"),
          .model = model.text,
          .window = window,
          .raw_caller = raw,
          .on_device = model.on_device,
          .round_is_private = HidesContextsOf(model),
          .catalogue_arms = model.catalogue_arms,
          .asking = &model.asking()};
}

Combination ByFollower(Combination combination) {
  absl::StrAppend(&combination.name, " follower");
  combination.by_follower = true;
  return combination;
}

Combination By(CallerApi api, const char* name, Combination combination) {
  absl::StrAppend(&combination.name, " ", name);
  combination.api = api;
  return combination;
}

std::vector<Combination> MakeCombinations() {
  std::vector<Combination> all;
  for (const bool window : {true, false}) {
    for (const Model& model : kLocal) all.push_back(Through(model, window, false));
    for (const Model& model : kCentral) {
      for (const bool raw : {false, true}) all.push_back(Through(model, window, raw));
    }
  }
  for (const bool window : {true, false}) {
    for (const Model& model : kEffectsOnDevice) all.push_back(Through(model, window, false));
  }
  for (const Model& model : kNamed) all.push_back(Through(model, /*window=*/true, /*raw=*/true));
  for (const Model& model : kSlotsOfSdk) all.push_back(Through(model, /*window=*/true, false));
  for (const bool window : {true, false}) {
    for (const Model& model : kByHttp) {
      all.push_back(By(CallerApi::kJson, "http", Through(model, window, /*raw=*/true)));
      all.push_back(By(CallerApi::kGrpcWeb, "web", Through(model, window, /*raw=*/true)));
    }
  }
  for (const Model& model : kNamed) {
    all.push_back(By(CallerApi::kJson, "http", Through(model, /*window=*/true, /*raw=*/true)));
  }
  for (const Model& model : kOfPersonalizer) {
    all.push_back(
        By(CallerApi::kPersonalizer, "http", Through(model, /*window=*/true, /*raw=*/true)));
  }
  for (const bool window : {true, false}) {
    for (const Model& model : kFollowedLocal) {
      all.push_back(ByFollower(Through(model, window, /*raw=*/false)));
    }
    for (const Model& model : kFollowedCentral) {
      all.push_back(ByFollower(Through(model, window, /*raw=*/true)));
    }
  }
  for (const bool window : {true, false}) {
    for (const Model& model : kRuledLocal) all.push_back(Through(model, window, false));
    for (const Model& model : kRuledCentral) {
      for (const bool raw : {false, true}) all.push_back(Through(model, window, raw));
    }
  }
  for (const Model& model : kRuledLocal) all.push_back(ByFollower(Through(model, true, false)));
  return all;
}

}  // namespace

const std::vector<Combination>& Combinations() {
  static const auto& all = *new std::vector<Combination>(MakeCombinations());
  return all;
}

absl::StatusOr<ModelSpec> SpecOf(const Combination& combination, absl::Duration duration,
                                 absl::Duration token_lifetime) {
  v1::ModelConfig config;
  if (!google::protobuf::TextFormat::ParseFromString(combination.model, &config)) {
    return Internal("a combination of the audit does not parse: ", combination.name);
  }
  config.set_name("m");
  if (!config.has_features()) config.set_dimension(3);
  // Set, because a posterior that is refreshed by the clock alone hides when events came.
  config.mutable_refresh_interval();
  const auto set = [](absl::Duration value, google::protobuf::Duration& out) {
    const std::int64_t nanos = absl::ToInt64Nanoseconds(value);
    out.set_seconds(nanos / 1'000'000'000);
    out.set_nanos(static_cast<std::int32_t>(nanos % 1'000'000'000));
  };
  if (combination.window) {
    v1::RewardWindow& window = *config.mutable_reporting()->mutable_reward_window();
    set(duration, *window.mutable_duration());
    window.set_default_reward(config.reward_min() < 0 ? 0.25 : 0);
  } else {
    config.mutable_reporting()->set_one_per_decision(true);
  }
  set(token_lifetime, *config.mutable_token_lifetime());
  std::vector<ConfigError> errors;
  if (!combination.by_follower) {
    // Whoever may keep its decisions does; servers that share a log may not.
    v1::ModelConfig logged = config;
    logged.mutable_decision_log();
    auto spec = ParseServedModel(logged, "", /*allow_files=*/false, errors);
    if (spec) return *std::move(spec);
    errors.clear();
  }
  auto spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
  if (spec) return *std::move(spec);
  return InvalidArgument("model of ", combination.name, ": ", errors.front().field, " ",
                         errors.front().message);
}

}  // namespace bandana::audit
