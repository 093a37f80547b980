#include "client/src/window_timer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "client/src/handle.h"
#include "client/src/release.h"

namespace bandana::device {
namespace {

constexpr int kRowsPerLook = 256;
// After a failed draw or a failed store.
constexpr absl::Duration kRetry = absl::Seconds(1);

}  // namespace

WindowTimes ScheduleWindow(absl::Time decided, absl::Duration window, std::uint64_t random) {
  const absl::Duration spread = std::min(window / 8, absl::Seconds(60));
  const double unit = std::ldexp(static_cast<double>(random >> 11), -53);
  const absl::Time close = decided + window;
  return {.close = close, .leave = close + kWindowGuard + spread * unit};
}

// What one look found.
struct WindowTimer::Pulse {
  absl::Time now;
  std::vector<OutboundReport> leaving;
  std::vector<DecisionNumber> defaulted;
  std::vector<DecisionNumber> rejected;
  std::map<StreamId, int> steps;
  bool more = false;
  bool failed = false;
  std::optional<absl::Time> next;
};

WindowTimer::WindowTimer(Options options, Services services, const Seams& seams)
    : options_(std::move(options)),
      services_(std::move(services)),
      clock_(seams.clock),
      recheck_(seams.recheck) {}

void WindowTimer::Expect(absl::Time close) {
  const std::lock_guard lock(mutex_);
  if (close < planned_at_ && !looking_) Plan(close);
}

void WindowTimer::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void WindowTimer::Plan(absl::Time at) {
  planned_at_ = at;
  const absl::Duration delay = std::min(at - clock_->Now(), recheck_);
  services_.scheduler->RunAfter(delay, [this, plan = ++plan_] {
    {
      const std::lock_guard lock(mutex_);
      if (plan != plan_) return;
    }
    Tick();
  });
}

void WindowTimer::Tick() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (looking_) {
      again_ = true;
      return;
    }
    looking_ = true;
  }
  services_.begin();
  Look();
}

void WindowTimer::Look() {
  auto pulse = std::make_shared<Pulse>();
  services_.store->Enqueue(
      [this, pulse](Store::Transaction& transaction) {
        pulse->now = clock_->Now();
        CloseWindows(transaction, *pulse);
        CollectDue(transaction, *pulse);
        pulse->next = transaction.tables.NextWake(options_.owner);
        return absl::OkStatus();
      },
      [this, pulse](const absl::Status& status) { Finish(*pulse, status); });
}

void WindowTimer::CloseWindows(Store::Transaction& transaction, Pulse& pulse) const {
  auto rows = transaction.tables.Awake(options_.owner, ReportState::kOpen, pulse.now, kRowsPerLook);
  pulse.more = rows.size() == kRowsPerLook;
  const bool draws = services_.contexts != nullptr || services_.privatizer != nullptr ||
                     services_.streams != nullptr;
  for (ReportRow& row : rows) {
    // Under another policy there is nothing that the user's debit was for.
    if (!draws || row.policy != options_.policy || !services_.may_draw()) {
      transaction.tables.DeleteReport(row.number);
      pulse.rejected.push_back(row.number);
    } else if (!(services_.streams != nullptr ? TakeStep(transaction, row, pulse)
                                              : DrawDefault(transaction, row, pulse))) {
      return;
    }
  }
}

absl::StatusOr<Release> WindowTimer::ReleaseDefault(Store::Transaction& transaction, ReportRow& row,
                                                    absl::Time forget_at) const {
  const int shown = ShowArm(0, options_.dimension, row);
  if (services_.contexts != nullptr) {
    return services_.contexts->Release(transaction, row, services_.contexts->Default(),
                                       Payment::kDebited, forget_at);
  }
  return services_.privatizer->Release(transaction, row, shown,
                                       services_.privatizer->Default(WindowOf(row.report, 0)),
                                       Payment::kDebited, forget_at);
}

bool WindowTimer::DrawDefault(Store::Transaction& transaction, ReportRow& row, Pulse& pulse) const {
  row.state = ReportState::kReady;
  row.wake_at = row.due_at;
  const auto step = ReleaseDefault(transaction, row, pulse.now + options_.remember);
  if (!step.ok()) {
    pulse.failed = true;
    return false;
  }
  pulse.defaulted.push_back(row.number);
  return true;
}

bool WindowTimer::TakeStep(Store::Transaction& transaction, const ReportRow& row,
                           Pulse& pulse) const {
  int shown = 0;
  const auto held = HeldReward::Unpack(row.report, shown);
  StreamId stream = 0;
  const auto step = services_.streams->Step(
      transaction, row, shown, held ? *held : services_.streams->Clip(std::nullopt),
      Payment::kDebited, pulse.now, pulse.now + options_.remember, stream);
  if (step.ok() && *step == Release::kAfterCommit) {
    pulse.more = true;  // its stream is debited with this look
    return false;
  }
  if (!step.ok() && step.status().code() != absl::StatusCode::kFailedPrecondition) {
    pulse.failed = true;
    return false;
  }
  transaction.tables.DeleteReport(row.number);
  if (step.ok() && *step == Release::kDone) {
    ++pulse.steps[stream];
    if (!held) pulse.defaulted.push_back(row.number);
  } else {
    pulse.rejected.push_back(row.number);  // the stream takes no more steps
  }
  return true;
}

void WindowTimer::CollectDue(Store::Transaction& transaction, Pulse& pulse) const {
  auto rows =
      transaction.tables.Awake(options_.owner, ReportState::kReady, pulse.now, kRowsPerLook);
  pulse.more = pulse.more || rows.size() == kRowsPerLook;
  for (ReportRow& row : rows) {
    if (!options_.deliverable.contains(row.policy)) {
      transaction.tables.DeleteReport(row.number);
      pulse.rejected.push_back(row.number);
      continue;
    }
    row.state = ReportState::kOutbound;
    transaction.tables.PutReport(row);
    pulse.leaving.push_back({.number = row.number,
                             .user = std::move(row.user),
                             .features = std::move(row.features),
                             .report = std::move(row.report),
                             .due_at = row.due_at});
  }
}

void WindowTimer::Finish(Pulse& pulse, const absl::Status& status) {
  if (status.ok()) {
    for (const DecisionNumber number : pulse.defaulted) services_.defaulted(number);
    for (const DecisionNumber number : pulse.rejected) services_.rejected(number);
    for (const auto& [stream, steps] : pulse.steps) services_.stepped(stream, steps);
    if (!pulse.leaving.empty()) services_.leave(std::move(pulse.leaving));
  }
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    const bool failed = pulse.failed || !status.ok();
    again = !closed_ && !failed && (pulse.more || again_);
    again_ = false;
    looking_ = again;
    if (failed) {
      Plan(clock_->Now() + kRetry);
    } else if (!again && pulse.next) {
      Plan(*pulse.next);
    } else if (!again) {
      planned_at_ = absl::InfiniteFuture();
    }
  }
  if (again) return Look();
  services_.end();
}

}  // namespace bandana::device
