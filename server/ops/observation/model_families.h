// Metric families made at scrape time from the views, so that a deleted model leaves no series
// behind.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "server/ops/observation/model_view.h"
#include "server/ops/observation/process_stats.h"

namespace bandana::server {

void AppendServerFamilies(const ServerView& view, const ProcessStats& process,
                          std::vector<prometheus::MetricFamily>& out);
void AppendModelFamilies(const std::vector<ModelView>& models,
                         std::vector<prometheus::MetricFamily>& out);

}  // namespace bandana::server
