// Which HTTP path answers what.
#pragma once

#include <string_view>

#include "absl/time/time.h"
#include "server/ops/observation/history.h"
#include "server/ops/observation/http_server.h"
#include "server/ops/observation/metrics.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// /healthz  200 while the process answers.
// /readyz   200 while it takes calls and every model takes reports; else 503 and why.
// /metrics  Prometheus text.
// /         status page.
HttpResponse Page(std::string_view path, const ServerView& view, const Metrics& metrics,
                  const History& history, absl::Time now);

}  // namespace bandana::server
