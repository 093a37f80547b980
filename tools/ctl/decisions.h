// `bandana-ctl decisions`: a model's decision log into a file, and how much there is of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/ctl/admin_client.h"

namespace bandana {

struct DecisionsAsked {
  std::string model;
  std::string format;  // "": the file's suffix says
  std::string from;    // RFC 3339; "": no bound
  std::string to;
  bool users = false;  // pseudonyms of this export's own
};

struct DecisionsWritten {
  std::uint64_t decisions = 0;
  std::uint64_t damaged = 0;  // that could not be read, and were left out
  // Names of servers that have a part of the log, and were not asked.
  std::vector<std::string> missing;
};

// Fetches the log's files from each server into a private folder beside `path`, joins decisions and
// rewards, and writes `path` (OpenDecisionSink). Errors: INVALID_ARGUMENT the format, a time, or
// one server twice; the servers'; RESOURCE_EXHAUSTED the disk is full.
absl::StatusOr<DecisionsWritten> ExportDecisions(std::span<AdminClient* const> servers,
                                                 const DecisionsAsked& asked,
                                                 const std::string& path);

// How much each server has, and all of them together: what is lost or oldest is of any. Errors:
// FAILED_PRECONDITION a server keeps none; the servers'.
absl::StatusOr<v1::DecisionLogStats> DecisionStats(std::span<AdminClient* const> servers,
                                                   const std::string& model);

}  // namespace bandana
