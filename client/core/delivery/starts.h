// Starts of the application, for ClientOptions::Leave::kAtStart: the only times at which reports
// are drawn and sent and anything is fetched.
#pragma once

#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/core/callback.h"
#include "client/core/delivery/counters.h"
#include "client/core/delivery/model_watch.h"
#include "client/core/delivery/outbox.h"
#include "client/core/delivery/pending_reports.h"
#include "client/core/delivery/start_gate.h"
#include "client/core/delivery/stream_outbox.h"
#include "client/core/delivery/window_timer.h"
#include "client/core/journal.h"
#include "common/base/clock.h"

namespace bandana::device {

// A reaction may end the process, let it sleep or begin another one, and that may well happen while
// its window is open. So a start at which any window of the store is open sends nothing, and no
// window opens before all calls of a start have ended. Each delivery is tried once. A delivery is
// durable when it ends: another process would go on as this one does.
class Starts {
 public:
  struct Options {
    OwnerId owner = 0;
    absl::Duration token_lifetime;
  };
  // All outlive it.
  struct Services {
    Journal* journal = nullptr;
    StartGate* gate = nullptr;  // of the store
    const Clock* clock = nullptr;
    Counters* counters = nullptr;
    PendingReports* pending = nullptr;
    ModelWatch* model = nullptr;
    Outbox* outbox = nullptr;
    StreamOutbox* stream_outbox = nullptr;
    WindowTimer* timer = nullptr;
    // Fetches once what the clock would fetch, and calls back.
    Callback<void(Callback<void()>)> fetch;
  };
  Starts(Options options, Services services) : options_(options), services_(std::move(services)) {}

  // A start, unless one is under way. `has_model`: the server has just told of the model; else it
  // is asked first.
  void Begin(bool has_model);
  // Runs `select` when no start of the store is under way, and what can never be reported has given
  // its place up.
  void BeforeSelection(Callback<void()> select);
  // Runs `then` when no start of this client is under way, perhaps now.
  void WhenEnded(Callback<void()> then);
  // The client closes: nobody waits for it any more.
  void Abandon() { End(); }

 private:
  // Drops reports that no start could send while the server still took them.
  std::vector<DecisionNumber> DropOvertaken(Tables& tables, absl::Time now) const;
  void Settle(const std::vector<DecisionNumber>& overtaken);
  void Deliver();
  void MakeDurable();
  void End();

  const Options options_;
  const Services services_;
  bool running_ = false;
  std::vector<Callback<void()>> when_ended_;
};

}  // namespace bandana::device
