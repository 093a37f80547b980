// Reports between a decision and the server's last word on it: their places in the queue, who waits
// for them, and whether anything may still be drawn.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "bandana/client.h"
#include "client/core/callback.h"
#include "client/core/delivery/counters.h"
#include "client/core/delivery/queue_slots.h"
#include "client/core/tables.h"

namespace bandana::device {

// Knows nobody of those who call it.
class PendingReports {
 public:
  using Done = Callback<void(Delivery)>;

  // `counters` outlives it.
  PendingReports(int reports_max, Counters* counters) : counters_(counters), slots_(reports_max) {}

  // One per report, from the Select of a reward window, or from Report without one.
  QueueSlots& slots() { return slots_; }
  const QueueSlots& slots() const { return slots_; }

  // Work that Flush waits for: calls, looks at the store, and reports between the time that they
  // are due and their settlement.
  void Begin(std::int64_t count = 1) { busy_ += count; }
  void End();
  // Runs `then` once nothing is under way, perhaps now.
  void WhenIdle(Callback<void()> then);

  // `done` hears the last word on the decision.
  void Await(DecisionNumber number, Done done) { waiters_[number] = std::move(done); }
  // The server's last word on a report that was begun: its place is free.
  void Settled(DecisionNumber number, Delivery delivery);
  // The decision has no report and will have none: its place is free.
  void Ended(DecisionNumber number, Delivery delivery);

  // From now on nothing is drawn: the model is not the one that was agreed on. Drawn reports are
  // still delivered, open windows end without a report. The first status stands.
  void Refuse(const absl::Status& status);
  const absl::Status& refusal() const { return refusal_; }
  // Whether Refuse was called: a client that closes only refuses as well, and what is drawn of it
  // waits for the next one.
  bool model_changed() const { return model_changed_; }
  // Refuses, and turns away who waits for a place and who comes.
  void Close();

 private:
  void Inform(DecisionNumber number, Delivery delivery);

  Counters* const counters_;
  QueueSlots slots_;
  std::int64_t busy_ = 0;
  std::vector<Callback<void()>> when_idle_;
  absl::Status refusal_;
  bool model_changed_ = false;
  std::map<DecisionNumber, Done> waiters_;
};

}  // namespace bandana::device
