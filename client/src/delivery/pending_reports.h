// Reports between a decision and the server's last word on it: their places in the queue, who waits
// for them, and whether anything may still be drawn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/client.h"
#include "client/core/tables.h"
#include "client/src/base/counters.h"
#include "client/src/delivery/queue_slots.h"

namespace bandana::device {

// Knows nobody of those who call it. Threads: safe.
class PendingReports {
 public:
  using Done = std::function<void(Delivery)>;

  // `counters` outlives it.
  PendingReports(int reports_max, Counters* counters) : counters_(counters), slots_(reports_max) {}

  // One per report, from the Select of a reward window, or from Report without one.
  QueueSlots& slots() { return slots_; }
  const QueueSlots& slots() const { return slots_; }

  // Work that Flush waits for: calls, looks at the store, and reports between the time that they
  // are due and their settlement.
  void Begin(std::int64_t count = 1);
  void End();
  // False: not within the time.
  bool WaitUntilIdle(absl::Duration timeout);

  // Runs `then` once nothing is under way, perhaps now. One at a time.
  void WhenIdle(std::function<void()> then);

  // `done` hears the last word on the decision.
  void Await(DecisionNumber number, Done done);
  // The server's last word on a report that was begun: its place is free.
  void Settled(DecisionNumber number, Delivery delivery);
  // The decision has no report and will have none: its place is free.
  void Ended(DecisionNumber number, Delivery delivery);

  // From now on nothing is drawn: the model is not the one that was agreed on. Drawn reports are
  // still delivered, open windows end without a report. The first status stands.
  void Refuse(const absl::Status& status);
  absl::Status refusal() const;
  // Whether Refuse was called: a client that closes only refuses as well, and what is drawn of it
  // waits for the next one.
  bool model_changed() const;
  // Refuses, and turns away who waits for a place and who comes.
  void Close();

 private:
  void Inform(DecisionNumber number, Delivery delivery);

  Counters* const counters_;
  QueueSlots slots_;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::int64_t busy_ = 0;
  std::function<void()> when_idle_;
  absl::Status refusal_;
  bool model_changed_ = false;
  std::unordered_map<DecisionNumber, Done> waiters_;
};

}  // namespace bandana::device
