// Which HTTP path answers what.
#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "server/ops/observation/history.h"
#include "server/ops/observation/metrics.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

inline constexpr std::string_view kHealthPath = "/healthz";
// Its answer: nothing is looked at.
HttpResponse Healthy();

// /healthz  200 while the process answers.
// /readyz   200 while it takes calls and every model takes reports; else 503 and why.
// /metrics  Prometheus text.
// /         status page.
// /models/NAME  the page of one model.
HttpResponse Page(std::string_view path, const ServerView& view, const Metrics& metrics,
                  const History& history, absl::Time now);

// The learnt effects that the page at `path` shows, among so many models. To look costs a pass over
// everything that a model has learnt.
EffectLooks LooksOn(std::string_view path, std::size_t models);

}  // namespace bandana::server
