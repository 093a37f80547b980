// The figures of a gate that are shown: any thread may read them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/model/entries/records.h"
#include "common/model/state/cell_codec.h"
#include "common/model/state/debit_policy.h"
#include "common/random/bit_source.h"
#include "server/log/id_index.h"
#include "server/models/admission/budget_use.h"
#include "server/models/admission/refusals.h"
#include "server/models/admission/waiting_decisions.h"

namespace bandana::server {

// Time buckets of remembered ids: by the decision's time.
inline constexpr absl::Duration kIdBucket = absl::Seconds(10);
std::int64_t IdBucketOf(absl::Time time);

struct ReportGateOptions {
  int dimension = 0;
  bool windows = false;              // events are decisions, else outcomes
  bool hides = false;                // HidesReports
  const CellCodec* cells = nullptr;  // with windows
  int users_max = 0;                 // of those that become nodes when first seen
  // Events of one node in an epoch, 0 = unlimited; not for nodes that pool users, whom the server
  // cannot tell apart.
  std::uint64_t events_per_user_max = 0;
  std::vector<bool> pooled;  // by node; empty = none
  std::uint64_t ids_max = 0;
  absl::Duration token_lifetime;
  // From a decision on until its id is forgotten (EventRule::decided_after).
  absl::Duration remember;
  const CounterDesign* counter = nullptr;  // of local streams; nullptr: each step releases
  // Debits that come before the next epoch's entry, for those that are lost.
  std::vector<DebitRecord> owed;
  std::shared_ptr<const DebitPolicy> debits = MakeNoDebits();
  WaitingDecisions* waiting = nullptr;  // told of outcomes; must outlive the gate
  bool salts_entries = false;           // of a log that keeps raw rewards: EntrySalts
  BitSource* bits = &SystemBits();
};

// Threads: public methods are safe; the others belong to the writer's thread.
class GateFigures {
 public:
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  // Decisions that are open, and distinct ids remembered.
  std::uint64_t ids() const { return ids_.load(std::memory_order_relaxed); }
  std::uint64_t ids_max() const { return options_.ids_max; }
  // The present refusals. Whoever refuses a decision before it is queued sets the reason as well.
  GateRefusals& refusals() { return refusals_; }
  RefusalLimits limits() const { return {options_.ids_max, options_.users_max}; }
  // nullopt: nothing bounds them; or events of a user are bounded, and the server, which cannot
  // tell one from another, leaves it to the devices.
  std::optional<BudgetUse> budget() const;
  // Most events of one node, over all epochs.
  std::uint64_t events_of_one_max() const { return events_max_.load(std::memory_order_relaxed); }
  // Decisions whose windows are open, reported or not.
  std::uint64_t windows_open() const { return windows_.load(std::memory_order_relaxed); }
  // When the oldest ids can be forgotten; InfiniteFuture when there are none.
  absl::Time forget_due() const;

 protected:
  explicit GateFigures(ReportGateOptions options) : options_(std::move(options)) {}
  ~GateFigures() = default;

  bool IsPooled(int node) const;
  // The node has so many events over all epochs, and `counts` in this one.
  void ShowEventsOf(int node, std::uint64_t events, const EpochCounts& counts);
  void ShowEventsOfAll(const EpochCounts& counts);
  // Nothing of the budget is used any more.
  void ShowNewEpoch();
  void Show(std::uint64_t epoch, const IdIndex& ids, std::size_t windows);

  const ReportGateOptions options_;

 private:
  void ShowUsed(std::uint64_t used);

  GateRefusals refusals_;
  std::atomic<std::uint64_t> epoch_{1};
  std::atomic<std::uint64_t> ids_{0};
  std::atomic<std::uint64_t> windows_{0};
  std::atomic<std::uint64_t> events_max_{0};
  std::atomic<std::uint64_t> budget_used_{0};
  std::atomic<std::int64_t> oldest_bucket_{INT64_MAX};
};

}  // namespace bandana::server
