// Who may become known to a model by a call: the caller's quota (CallQuota) over the model's users.
#pragma once

#include <string>

#include "server/models/served_model.h"

namespace bandana::server {

// A user whom the model knows is always allowed.

// By a decision: where the server closes windows it becomes an entry of the log, and names its
// user, whether a report comes or not.
bool AllowDecision(const SelectingModel& model, const std::string& user);
// By a report, elsewhere. Where windows are closed here a report makes nobody known, and what is
// counted must not depend on it.
bool AllowReport(const SelectingModel& model, const std::string& user);

}  // namespace bandana::server
