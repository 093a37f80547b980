// The counts of a model's reports that may be told: those that say nothing of a private event.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "bandana/v1/recommender.pb.h"
#include "common/design/model_spec.h"
#include "common/model/entries/counters.h"
#include "server/log/log_writer.h"
#include "server/models/admission/report_totals.h"

namespace bandana::server {

// Threads: safe.
class OpenCounts {
 public:
  // `counters` must outlive it.
  OpenCounts(const ModelSpec& spec, Counters& counters);

  // Counts nothing that may tell that a report came.
  void Rejected(v1::OutcomeCode code, v1::RejectReason reason, std::uint64_t count);
  // Counts nothing that may tell about contexts.
  void FeaturesClipped(std::uint64_t count);
  // A report that is in the log.
  void Taken(const CountedReport& report);
  // The rewards since the start; a private model has none.
  std::optional<RewardTotals> rewards() const;
  // Nothing before the first value that has a window.
  std::optional<WindowPlaces> places() const;

  // Whether others may notice the reports in the queue of the log.
  Notice notice() const;

 private:
  Counters& counters_;
  const bool hides_reports_;
  const bool hides_contexts_;
  mutable std::mutex mutex_;
  std::optional<RewardTotals> rewards_;
  std::optional<WindowPlaces> places_;
};

}  // namespace bandana::server
