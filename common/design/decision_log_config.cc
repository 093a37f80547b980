#include "common/design/decision_log_config.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/mode_limits.h"
#include "common/design/server_mechanism_table.h"
#include "common/design/wire_messages.h"
#include "common/promise/mechanism.h"

namespace bandana {
namespace {

// Bounds and defaults of config.proto.
constexpr absl::Duration kKeepLeast = absl::Hours(1);
constexpr absl::Duration kKeepMost = absl::Hours(8760);
constexpr absl::Duration kKeepUnsaid = absl::Hours(168);
constexpr std::uint64_t kLogBytesLeast = std::uint64_t{1} << 20;
constexpr std::uint64_t kLogBytesMost = std::uint64_t{1} << 40;
constexpr std::uint64_t kLogBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kLoggedArmsMost = 1000;
constexpr std::uint64_t kLoggedArms = 100;

}  // namespace

void ParseDecisionLog(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  if (!config.has_decision_log()) return;
  const v1::DecisionLog& given = config.decision_log();
  const FieldChecks inside = checks.Inside("decision_log");
  DecisionLogSpec& log = spec.decision_log.emplace();
  log.keep = kKeepUnsaid;
  if (given.has_keep())
    log.keep = inside.Span("keep", FromProto(given.keep()), kKeepLeast, kKeepMost);
  log.bytes_max = inside.Count("bytes_max", given.bytes_max() == 0 ? kLogBytes : given.bytes_max(),
                               kLogBytesLeast, kLogBytesMost);
  const bool contexts[] = {LimitsOf(spec.public_spec.mode).logs_contexts, given.contexts()};
  log.contexts = contexts[static_cast<int>(given.has_contexts())];
  log.arms_max = static_cast<int>(inside.Count(
      "arms_max", given.arms_max() == 0 ? kLoggedArms : given.arms_max(), 1, kLoggedArmsMost));
}

void CheckDecisionLog(const ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.decision_log) return;
  const PublicSpec& p = spec.public_spec;
  const std::string_view refused = LimitsOf(p.mode).no_decision_log;
  if (!refused.empty()) {
    checks.Add("decision_log",
               absl::StrCat("is refused in mode ", ModeName(p.mode), ": ", ToAbsl(refused)));
  } else if (FamilyOf(spec).choice() == Family::Choice::kPoint) {
    checks.Add("decision_log",
               "is refused for models of points: a point has no propensity, and no policy but its "
               "own could be judged");
  } else if (!ServerRowOf(p).releases_events()) {
    checks.Add("decision_log",
               absl::StrCat("is refused with mechanism ", MechanismName(p.mechanism),
                            ": no event has a released reward of its own"));
  }
}

}  // namespace bandana
