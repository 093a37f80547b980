#include "server/service/new_users.h"

#include "common/design/user_nodes.h"
#include "common/promise/event_rule.h"
#include "server/service/access/new_user_quota.h"

namespace bandana::server {
namespace {

bool ByDecision(const SelectingModel& model) {
  return EventRuleOf(model.spec().public_spec).window != absl::InfiniteDuration();
}

bool Allow(const SelectingModel& model, const std::string& user) {
  NewUserQuota* const quota = CallQuota::current();
  if (quota == nullptr || user.empty()) return true;
  if (UserNodesOf(model.spec()).known() != UserNodes::Known::kSeen) return true;
  const absl::StatusOr<int> node = model.ResolveUser(user);
  if (!node.ok() || *node >= 0) return true;
  return quota->Take(model.spec().public_spec.name, user);
}

}  // namespace

bool AllowDecision(const SelectingModel& model, const std::string& user) {
  return !ByDecision(model) || Allow(model, user);
}

bool AllowReport(const SelectingModel& model, const std::string& user) {
  return ByDecision(model) || Allow(model, user);
}

}  // namespace bandana::server
