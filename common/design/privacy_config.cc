#include "common/design/privacy_config.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/coupling_table.h"
#include "common/design/decision_log_config.h"
#include "common/design/mode_limits.h"
#include "common/design/server_mechanism_table.h"
#include "common/design/user_nodes.h"
#include "common/design/wire_messages.h"
#include "common/promise/mode.h"
#include "common/promise/model_rules.h"
#include "common/promise/privacy_rules.h"

namespace bandana {
namespace {

void CheckDeltaAllowed(const v1::Privacy& privacy, const FieldChecks& checks) {
  const double max = privacy.research() ? 1.0 : kDeltaPolicyMax;
  if (privacy.delta() >= 0 && privacy.delta() <= max && privacy.delta() < 1) return;
  checks.Add("delta", absl::StrCat("must be in [0, ", max,
                                   privacy.research() ? ")" : "] unless research is true", ", got ",
                                   privacy.delta()));
}

// The row of the mechanism in force.
const MechanismRow& InForce(const ModelSpec& spec, const FieldChecks& checks) {
  const MechanismId asked = FromProto(spec.config.privacy().mechanism());
  const Mode mode = spec.public_spec.mode;
  const MechanismRow& otherwise = DefaultMechanism(mode, FamilyOf(spec).name());
  if (AsksForAuto(spec.config)) return otherwise;
  const MechanismRow* const row = FindMechanism(asked);
  if (row == nullptr) {
    checks.Add("mechanism", absl::StrCat("must be one of ", MechanismNames(mode), ", got ",
                                         static_cast<int>(asked)));
    return otherwise;
  }
  const MechanismRow* const here = FindMechanism(asked, mode);
  CheckMode(asked, mode, checks);
  return here == nullptr ? *row : *here;
}

// The part that a mechanism spends of the delta that a configuration allows.
Delta TakeDelta(const MechanismRow& row, const v1::Privacy& privacy, const FieldChecks& checks) {
  if (!row.gaussian) return Delta{0};
  if (privacy.delta() == 0) {
    checks.Add("delta", absl::StrCat("must be above 0 for ", MechanismName(row.id),
                                     ": its noise is Gaussian"));
  }
  return Delta{privacy.delta()};
}

// Unset fields take their defaults.
wire::CounterPolicy WithDefaults(wire::CounterPolicy policy) {
  constexpr std::uint64_t kHorizonDefault = 10'000;
  if (policy.kind == 0) policy.kind = NumberOf(CounterKind::kBlt);
  if (policy.horizon == 0) policy.horizon = kHorizonDefault;
  if (policy.steps_max == 0) policy.steps_max = kCounterStepsMax;
  return policy;
}

// A counter that AUTO may still use is checked.
std::optional<CounterSpec> TakeCounter(const MechanismRow& row, const v1::Privacy& privacy,
                                       const FieldChecks& checks) {
  const bool given = privacy.has_counter();
  if (!row.has_counter && !given) return std::nullopt;
  if (!row.has_counter && FromProto(privacy.mechanism()) == row.id) {
    checks.Add("counter", absl::StrCat("is refused with mechanism ", MechanismName(row.id),
                                       ", which has no counter"));
  }
  const CounterSpec counter =
      CheckCounter("counter", WithDefaults(FromProto(privacy.counter())), checks);
  return row.has_counter ? std::optional(counter) : std::nullopt;
}

void ParseMechanism(const v1::Privacy& privacy, ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  CheckDeltaAllowed(privacy, checks);
  const MechanismRow& row = InForce(spec, checks);
  out.mechanism = row.id;
  out.delta = TakeDelta(row, privacy, checks);
  out.counter = TakeCounter(row, privacy, checks);
  checks.Count("planned_events_per_user", PlannedEvents(privacy), 1, kCounterStepsMax);
  row.check_policy(out, checks);
}

}  // namespace

void RefusePrivacy(ModelSpec& spec, const FieldChecks& checks) {
  if (spec.config.has_privacy()) checks.Add("privacy", "is refused for mode NON_PRIVATE");
}

void ParsePrivate(ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  const v1::ModelConfig& config = spec.config;
  if (spec.reject_rewards) {
    checks.Add("reward_out_of_range",
               "must be CLIP for a private model: a rejection would tell about the reward");
  }
  if (!config.has_privacy()) {
    checks.Add("privacy", absl::StrCat("is required for mode ", ModeName(out.mode)));
    return;
  }
  const v1::Privacy& privacy = config.privacy();
  const FieldChecks inside = checks.Inside("privacy");
  out.research = privacy.research();
  out.epsilon = CheckEpsilon(privacy.epsilon(), privacy.research(), inside);
  ParseMechanism(privacy, spec, inside);
  out.unit_of_privacy = "event";
  out.guarantee = "proven";
  out.events_per_user_max = privacy.events_per_user_max();
}

namespace {

std::string ModeNames(const std::vector<Mode>& modes) {
  return absl::StrJoin(modes, " or ",
                       [](std::string* out, Mode mode) { out->append(ModeName(mode)); });
}

// The family's modes and mechanisms.
void CheckFamily(const ModelSpec& spec, const FieldChecks& checks) {
  const PublicSpec& p = spec.public_spec;
  const Family& family = FamilyOf(spec);
  const Family::Scope scope = family.scope();
  const std::string plural(scope.plural);
  if (!scope.modes.empty() &&
      std::find(scope.modes.begin(), scope.modes.end(), p.mode) == scope.modes.end()) {
    checks.Add("mode", absl::StrCat("must be ", ModeNames(scope.modes), " for ", plural));
  } else if (!plural.empty() && !Serves(ServerRowOf(p), family.name())) {
    checks.Add(
        "privacy.mechanism",
        absl::StrCat("must be AUTO or ", MechanismName(DefaultMechanism(p.mode, family.name()).id),
                     " for ", plural));
  }
  family.Check(spec, checks);
}

// Whether models of the family and the mechanism can forget.
void CheckForgetting(const ModelSpec& spec, const FieldChecks& checks) {
  if (spec.half_life == absl::ZeroDuration()) return;
  const PublicSpec& p = spec.public_spec;
  const Family::Scope scope = FamilyOf(spec).scope();
  const ServerMechanismRow& row = ServerRowOf(p);
  if (!scope.keeps.empty()) {
    checks.Add("half_life",
               absl::StrCat("is refused for ", ToAbsl(scope.plural), ": ", ToAbsl(scope.keeps)));
  } else if (!row.keeps.empty()) {
    checks.Add("half_life", absl::StrCat("is refused with mechanism ", MechanismName(p.mechanism),
                                         " in mode ", ModeName(p.mode), ": ", ToAbsl(row.keeps)));
  }
}

// Rules that follow from who sees contexts.
void CheckModeRules(const ModelSpec& spec, const FieldChecks& checks) {
  const ModeRow& mode = ModeOf(spec.public_spec.mode);
  const std::string_view coupling = CouplingOf(spec.config).name;
  if (!mode.couplings.empty() &&
      std::find(mode.couplings.begin(), mode.couplings.end(), coupling) == mode.couplings.end()) {
    checks.Add("coupling", std::string(mode.couplings_message));
  }
  if (!mode.no_catalogue.empty() && !spec.arms_file.empty()) {
    checks.Add("arms_file", absl::StrCat("is refused for mode ", ToAbsl(mode.no_catalogue)));
  }
  CheckHiddenFeatures(spec.public_spec, checks);
}

}  // namespace

std::uint64_t PlannedEvents(const v1::Privacy& privacy) {
  const std::uint64_t planned = privacy.planned_events_per_user();
  return planned == 0 ? kPlannedEventsDefault : planned;
}

bool AsksForAuto(const v1::ModelConfig& config) {
  const MechanismId asked = FromProto(config.privacy().mechanism());
  return asked == MechanismId::kAuto || asked == MechanismId::kUnspecified;
}

void ParsePrivacy(ModelSpec& spec, const FieldChecks& checks) {
  spec.public_spec.mode = FromProto(spec.config.mode());
  if (FindMode(spec.public_spec.mode) == nullptr) {
    checks.Add("mode",
               "is required: NON_PRIVATE, LOCAL_REWARD, CENTRAL_REWARD, JOINT or LOCAL_CONTEXT");
    return;
  }
  LimitsOf(spec.public_spec.mode).parse_privacy(spec, checks);
}

namespace {

// Somebody must count: the device, or a server that sees whose an event is.
void CheckEventLimit(const ModelSpec& spec, const FieldChecks& checks) {
  const std::string_view refused = LimitsOf(spec.public_spec.mode).shared_limit;
  if (refused.empty() || spec.public_spec.events_per_user_max == 0 || !PoolsUsers(spec)) return;
  checks.Add("privacy.events_per_user_max", std::string(refused));
}

}  // namespace

void CheckTogether(const ModelSpec& spec, const FieldChecks& checks) {
  ServerRowOf(spec.public_spec).check(spec, checks);
  CheckFamily(spec, checks);
  CheckForgetting(spec, checks);
  CheckEventLimit(spec, checks);
  CheckModeRules(spec, checks);
}

void MakeInForce(ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& p = spec.public_spec;
  if (const absl::Status made = MakeMechanisms(spec); !made.ok()) {
    return checks.Add(ServerRowOf(p).field, std::string(made.message()));
  }
  p.context = p.made->agreed();
  spec.bandit.observation_variance += p.made->reward_variance();
  spec.mechanism->Check(spec, checks);
  FamilyOf(spec).CheckMade(spec, checks);
  CheckDecisionLog(spec, checks);
}

}  // namespace bandana
