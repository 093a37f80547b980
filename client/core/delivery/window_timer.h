// The schedule of reward windows: at the due time of a decision, reaction or not, its report is
// drawn, made durable and sent. It also takes up what an earlier run left.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/core/delivery/activations.h"
#include "client/core/delivery/counters.h"
#include "client/core/delivery/outbox.h"
#include "client/core/delivery/pending_reports.h"
#include "client/core/delivery/stream_outbox.h"
#include "client/core/event_mechanism.h"
#include "client/core/journal.h"
#include "client/core/timers.h"
#include "common/base/clock.h"
#include "common/promise/window_schedule.h"

namespace bandana::device {

// Rows in the store are the truth; the timer only remembers when to look next.
class WindowTimer {
 public:
  struct Options {
    OwnerId owner = 0;
    PolicyId policy = 0;             // the one that draws
    std::set<PolicyId> deliverable;  // policies whose drawn reports this client can deliver
    absl::Duration remember;         // how long a drawn decision is remembered
    // Longest sleep between two looks at the wall clock: windows close by it, and it may be set.
    absl::Duration recheck = absl::Seconds(30);
    bool at_start = false;  // looks when it is told to, and never by itself
  };
  // All outlive it.
  struct Services {
    Journal* journal = nullptr;
    Timers* timers = nullptr;
    const Clock* clock = nullptr;
    Counters* counters = nullptr;
    const EventMechanism* mechanism = nullptr;
    const ModelEpoch* epoch = nullptr;
    // Refused: open decisions end without a report.
    PendingReports* pending = nullptr;
    Activations* activations = nullptr;
    StreamOutbox* stream_outbox = nullptr;
  };
  WindowTimer(Options options, Services services)
      : options_(std::move(options)), services_(services) {}

  // A decision is due at `due`: looks then at the latest.
  void Expect(absl::Time due);
  // Looks now, or once more after the look under way.
  void Tick();
  // No further looks.
  void Close() { closed_ = true; }

 private:
  struct Pulse;
  void Look();
  void DrawDue(Transaction& transaction, Pulse& pulse) const;
  // The draw of one open decision that is due: false when the look must end with it.
  bool DrawOne(Transaction& transaction, ReportRow& row, Pulse& pulse) const;
  void TakeUp(Transaction& transaction, Pulse& pulse) const;
  // At a start: all steps that the server lacks.
  void TakeUpSteps(Transaction& transaction, Pulse& pulse) const;
  void Finish(Pulse& pulse, const absl::Status& status);
  // Tells the others, once the work of a look is durable.
  void HandOver(Pulse& pulse);
  void Plan(absl::Time at);

  const Options options_;
  const Services services_;

  bool looking_ = false;
  bool again_ = false;
  bool closed_ = false;
  std::uint64_t plan_ = 0;  // of the planned looks only the last counts
  absl::Time planned_at_ = absl::InfiniteFuture();
};

}  // namespace bandana::device
