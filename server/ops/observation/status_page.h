// The pages for people: what the server hosts, at a glance, and each model. Self-contained HTML
// without scripts.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "server/ops/observation/history.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// So many models have their details on the page at /. With more they are on their own pages alone,
// and the page has one row per model.
inline constexpr std::size_t kModelsInFull = 4;

// The page at /: first whether all is well, and what is not; then the models; then charts.
std::string StatusPage(const ServerView& view, const Series& recent, const Series& hour,
                       absl::Time now);

}  // namespace bandana::server
