// How many decisions wait for their report, where each report is an event by itself.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "absl/time/time.h"
#include "server/log/update_log.h"

namespace bandana::server {

// Counts what this server has answered since its start, until it is reported or its token is over.
// It says no more than the decisions and the reports that came, which stand in the statistics.
// Memory: a number for each 256th of a token's life. Threads: safe.
class WaitingDecisions {
 public:
  // `issuer`: of this server's numbers (DecisionNumbers).
  WaitingDecisions(std::uint64_t issuer, absl::Duration token_lifetime);

  void Answered(absl::Time now);
  // The log took the report of this decision. One of another issuer does not matter.
  void Reported(const RememberedId& id);
  std::uint64_t Count(absl::Time now);

 private:
  std::int64_t SliceOf(absl::Time time) const;

  const std::uint64_t issuer_;
  const absl::Duration life_;
  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> slices_;  // by the decision's time
};

}  // namespace bandana::server
