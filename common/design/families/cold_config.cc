#include "common/design/families/cold_config.h"

#include <string>

#include "common/promise/mode.h"
#include "common/ranking/policies/selection_rules.h"

namespace bandana {
namespace {

constexpr std::uint64_t kColdEventsMax = 65535;

}  // namespace

void ParseColdArms(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.effects || !config.effects().has_cold_arms()) return;
  const ModeRow* const mode = FindMode(spec.public_spec.mode);
  if (mode == nullptr) return;  // a mistake that others report
  const FieldChecks inside = checks.Inside("effects").Inside("cold_arms");
  const v1::ColdArms& given = config.effects().cold_arms();
  if (!mode->no_policy.empty()) {
    return checks.Inside("effects").Add("cold_arms", std::string(mode->no_policy));
  }
  const std::uint64_t events = inside.Count("events", given.events(), 1, kColdEventsMax);
  const double share = inside.Positive("share", given.share(), 1);
  if (events < 1 || events > kColdEventsMax || !(share > 0 && share <= 1)) return;
  spec.effects->cold_events = static_cast<std::uint32_t>(events);
  spec.policy = MakeColdShare(spec.policy == nullptr ? MakeUcbRule() : spec.policy, share);
}

}  // namespace bandana
