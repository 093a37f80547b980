// The schedule of reward windows: closes them, draws the default where no reward came, lets reports
// leave when they are due, and takes up what an earlier run left.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "client/src/context_privatizer.h"
#include "client/src/counters.h"
#include "client/src/outbox.h"
#include "client/src/privatizer.h"
#include "client/src/scheduler.h"
#include "client/src/seams.h"
#include "client/src/store.h"
#include "client/src/stream_privatizer.h"

namespace bandana::device {

// When a decision closes and when its report leaves, drawn at the decision: public times that no
// reaction moves. Between the two lies at least kWindowGuard, in which defaults are drawn and made
// durable, so that they leave no later than reports that were ready before.
struct WindowTimes {
  absl::Time close;
  absl::Time leave;
};
inline constexpr absl::Duration kWindowGuard = absl::Milliseconds(50);
// leave = close + guard + jitter, jitter uniform in [0, min(window / 8, 60 s)) by the random word.
WindowTimes ScheduleWindow(absl::Time decided, absl::Duration window, std::uint64_t random);

// Rows in the store are the truth; the timer only remembers when to look next. Threads: safe.
class WindowTimer {
 public:
  struct Options {
    OwnerId owner = 0;
    PolicyId policy = 0;             // the one that draws
    std::set<PolicyId> deliverable;  // policies whose drawn reports this client can deliver
    int dimension = 0;
    absl::Duration remember;  // how long a drawn decision is remembered
  };
  struct Services {
    std::shared_ptr<Store> store;
    Scheduler* scheduler = nullptr;
    // At most one; none: there are no windows, only leftovers.
    const ContextPrivatizer* contexts = nullptr;
    const Privatizer* privatizer = nullptr;
    const StreamPrivatizer* streams = nullptr;
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

  // A decision closes at `close`: looks then at the latest.
  void Expect(absl::Time close);
  // Looks now, or once more after the look under way.
  void Tick();
  // No further looks.
  void Close();

 private:
  struct Pulse;
  void Look();
  void CloseWindows(Store::Transaction& transaction, Pulse& pulse) const;
  // What became of one open decision whose time has come: false when the look must end with it.
  bool DrawDefault(Store::Transaction& transaction, ReportRow& row, Pulse& pulse) const;
  absl::StatusOr<Release> ReleaseDefault(Store::Transaction& transaction, ReportRow& row,
                                         absl::Time forget_at) const;
  bool TakeStep(Store::Transaction& transaction, const ReportRow& row, Pulse& pulse) const;
  void CollectDue(Store::Transaction& transaction, Pulse& pulse) const;
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
