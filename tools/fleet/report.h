// A finished run as JSON, as text for people and as a plot.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bandana/client.h"
#include "tools/environments/environment.h"
#include "tools/fleet/runner.h"

namespace bandana {

// Everything that is told about a run. Views of objects that outlive it.
struct RunReport {
  const RunResult& result;
  const RunOptions& options;
  const EnvironmentInfo& environment;
  const ModelInfo& model;
  std::string device;                 // --device
  std::vector<std::string> settings;  // key=value
  ClientStats client;
  // Over the users seen: the largest of each.
  PrivacySpent spent_max;
};

// The run made every decision it was asked for and every report was acknowledged.
bool Succeeded(const RunReport& report);

// The contract's keys first, then further ones; times in microseconds unless the key says
// otherwise.
std::string ToJson(const RunReport& report);

// A few lines.
std::string ToText(const RunReport& report);

}  // namespace bandana
