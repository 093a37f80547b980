#include "tools/ctl/explain.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/design/planner/choice_table.h"
#include "common/design/server_mechanism_table.h"

namespace bandana {
namespace {

std::string CounterText(const std::optional<CounterSpec>& counter) {
  if (!counter) return "";
  return absl::StrFormat("counter %s, tuned to %d steps, at most %d\n", ServedName(counter->kind),
                         counter->horizon, counter->steps_max);
}

std::string LinkText(Link link) {
  return link == Link::kLogistic
             ? "expected reward logistic in x . theta: devices report straightened events\n"
             : "";
}

}  // namespace

absl::StatusOr<std::string> Explain(const v1::ModelDescription& description) {
  BANDANA_ASSIGN_OR_RETURN(const PublicSpec policy,
                           ParsePublicSpec(description.model().SerializeAsString()));
  const Mechanism& mechanism = *policy.made;
  BANDANA_ASSIGN_OR_RETURN(const std::string planned, ExplainChoice(policy, description.config()));
  return absl::StrCat(policy.name, ": ", mechanism.InForce(policy), CounterText(policy.counter),
                      LinkText(policy.link), ToAbsl(ServerRowOf(policy).remark), planned);
}

}  // namespace bandana
