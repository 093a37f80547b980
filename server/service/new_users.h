// Who may become known to the models of one call: CallQuota over their users.
#pragma once

#include <string>
#include <utility>

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
  // By a decision: where the server closes windows it becomes an entry of the log, and names its
  // user, whether a report comes or not.
  bool AllowDecision(const HostedModel& model, const std::string& user) {
    return !ByDecision(model) || Allow(model, user);
  }
  // By a report, elsewhere. Where windows are closed here a report makes nobody known, and what is
  // counted must not depend on it.
  bool AllowReport(const HostedModel& model, const std::string& user) {
    return ByDecision(model) || Allow(model, user);
  }

 private:
  static bool ByDecision(const HostedModel& model) {
    return EventRuleOf(model.spec().public_spec).window != absl::InfiniteDuration();
  }
  bool Allow(const HostedModel& model, const std::string& user) {
    NewUserQuota* const quota = CallQuota::current();
    if (quota == nullptr || user.empty() || counted_.contains({&model, user})) {
      return true;
    }
    if (UserNodesOf(model.spec()).known() != UserNodes::Known::kSeen) return true;
    const absl::StatusOr<int> node = model.ResolveUser(user);
    if (!node.ok() || *node >= 0) return true;
    if (!quota->Take(model.spec().public_spec.name, user)) return false;
    counted_.emplace(&model, user);
    return true;
  }

  absl::flat_hash_set<std::pair<const HostedModel*, std::string>> counted_;
};

}  // namespace bandana::server
