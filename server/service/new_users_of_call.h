// Who may become known to a model by one call: CallQuota over its users.
#pragma once

#include <string>

#include "absl/container/flat_hash_set.h"
#include "common/design/event_rule.h"
#include "common/design/user_nodes.h"
#include "server/models/hosted_model.h"
#include "server/service/access/new_user_quota.h"

namespace bandana::server {

// A user whom the model knows is always allowed, and one whom the object was asked for twice is
// counted once.
// Not thread-safe.
class NewUsersOfCall {
 public:
  // `model` must outlive it.
  explicit NewUsersOfCall(const HostedModel& model) : model_(model) {}

  // By a decision: where the server closes windows it becomes an entry of the log, and names its
  // user, whether a report comes or not.
  bool AllowDecision(const std::string& user) { return !by_decision() || Allow(user); }
  // By a report, elsewhere. Where windows are closed here a report makes nobody known, and what is
  // counted must not depend on it.
  bool AllowReport(const std::string& user) { return by_decision() || Allow(user); }

 private:
  bool by_decision() const {
    return EventRuleOf(model_.spec().public_spec).window != absl::InfiniteDuration();
  }
  bool Allow(const std::string& user) {
    NewUserQuota* const quota = CallQuota::current();
    if (quota == nullptr || user.empty() || counted_.contains(user)) return true;
    if (UserNodesOf(model_.spec()).known() != UserNodes::Known::kSeen) return true;
    const absl::StatusOr<int> node = model_.ResolveUser(user);
    if (!node.ok() || *node >= 0) return true;
    if (!quota->Take(model_.spec().public_spec.name)) return false;
    counted_.insert(user);
    return true;
  }

  const HostedModel& model_;
  absl::flat_hash_set<std::string> counted_;
};

}  // namespace bandana::server
