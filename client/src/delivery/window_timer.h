// The schedule of reward windows: at the due time of a decision, reaction or not, its report is
// drawn, made durable and sent. It also takes up what an earlier run left.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "client/src/base/scheduler.h"
#include "client/src/delivery/outbox.h"
#include "client/src/delivery/seams.h"
#include "client/src/privacy/event_mechanism.h"
#include "client/src/store/store.h"
#include "common/design/window_schedule.h"

namespace bandana::device {

// Rows in the store are the truth; the timer only remembers when to look next. Threads: safe.
class WindowTimer {
 public:
  struct Options {
    OwnerId owner = 0;
    PolicyId policy = 0;             // the one that draws
    std::set<PolicyId> deliverable;  // policies whose drawn reports this client can deliver
    absl::Duration remember;         // how long a drawn decision is remembered
  };
  struct Services {
    std::shared_ptr<Store> store;
    Scheduler* scheduler = nullptr;
    const EventMechanism* mechanism = nullptr;
    // False: the model is not the one that was agreed on, and open decisions end without a report.
    std::function<bool()> may_draw;
    // A look begins (before it reads the store) and ends. In between, with everything durable:
    std::function<void()> begin, end;
    std::function<void(std::vector<OutboundReport>)> leave;
    std::function<void(DecisionNumber)> defaulted;
    // Neither drawn nor deliverable: the row is gone.
    std::function<void(DecisionNumber)> rejected;
    // So many steps of a counter were taken.
    std::function<void(StreamId, int)> stepped;
  };
  WindowTimer(Options options, Services services, const Seams& seams);

  // A decision is due at `due`: looks then at the latest.
  void Expect(absl::Time due);
  // Looks now, or once more after the look under way.
  void Tick();
  // No further looks.
  void Close();

 private:
  struct Pulse;
  void Look();
  void DrawDue(Store::Transaction& transaction, Pulse& pulse) const;
  // The draw of one open decision that is due: false when the look must end with it.
  bool DrawOne(Store::Transaction& transaction, ReportRow& row, Pulse& pulse) const;
  void TakeUp(Store::Transaction& transaction, Pulse& pulse) const;
  void Finish(Pulse& pulse, const absl::Status& status);
  void Plan(absl::Time at);  // requires mutex_

  const Options options_;
  const Services services_;
  const Clock* const clock_;
  const absl::Duration recheck_;

  std::mutex mutex_;
  bool looking_ = false;
  bool again_ = false;
  bool closed_ = false;
  std::uint64_t plan_ = 0;  // of the planned looks only the last counts
  absl::Time planned_at_ = absl::InfiniteFuture();
};

}  // namespace bandana::device
