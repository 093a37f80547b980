// The charts of the pages. Rewards of non-private models only.
#pragma once

#include <string>

#include "server/ops/observation/history.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// Throughput, latency, memory.
std::string ServerCharts(const Series& series);

// Reports, lag, and what is learnt.
std::string ModelCharts(const ModelView& model, const Series& series);

}  // namespace bandana::server
