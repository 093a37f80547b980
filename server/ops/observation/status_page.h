// The page at /: what the server hosts, at a glance. Self-contained HTML.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/ops/observation/history.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// Charts of `samples`, oldest first. Rewards of non-private models only.
std::string StatusPage(const ServerView& view, const std::vector<Sample>& samples, absl::Time now);

}  // namespace bandana::server
