// The page at /: what the server hosts, at a glance. Self-contained HTML.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "server/ops/model_view.h"

namespace bandana::server {

std::string StatusPage(const ServerView& view, absl::Time now);

}  // namespace bandana::server
