#include "client/core/delivery/window_timer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace bandana::device {
namespace {

constexpr int kRowsPerLook = 256;
// After a failed draw or a failed store.
constexpr absl::Duration kRetry = absl::Seconds(1);

}  // namespace

// One look: the core when it begins, and its findings.
struct WindowTimer::Pulse {
  absl::Time now;
  std::uint64_t epoch = 0;
  bool model_changed = false;
  bool closing = false;  // the client; the next one draws
  std::vector<OutboundReport> leaving;
  std::uint64_t defaulted = 0;
  std::vector<DecisionNumber> rejected;
  std::map<StreamId, int> steps;
  bool more = false;
  bool failed = false;
  std::optional<absl::Time> next;
};

void WindowTimer::Expect(absl::Time due) {
  if (!options_.at_start && due < planned_at_ && !looking_) Plan(due);
}

void WindowTimer::Plan(absl::Time at) {
  if (options_.at_start) return;
  planned_at_ = at;
  const absl::Duration delay = std::min(at - services_.clock->Now(), options_.recheck);
  services_.timers->RunAfter(delay, [this, plan = ++plan_] {
    if (plan == plan_) Tick();
  });
}

void WindowTimer::Tick() {
  if (closed_) return;
  if (looking_) {
    again_ = true;
    return;
  }
  looking_ = true;
  services_.pending->Begin();
  Look();
}

void WindowTimer::Look() {
  auto pulse = std::make_shared<Pulse>();
  services_.journal->Push(
      {.before =
           [this, pulse] {
             pulse->now = services_.clock->Now();
             pulse->epoch = services_.epoch->value();
             pulse->model_changed = services_.pending->model_changed();
             pulse->closing = !pulse->model_changed && !services_.pending->refusal().ok();
           },
       .operation =
           [this, pulse](Transaction& transaction) {
             TakeUp(transaction, *pulse);
             if (!pulse->closing) DrawDue(transaction, *pulse);
             if (options_.at_start) TakeUpSteps(transaction, *pulse);
             pulse->next = transaction.tables.reports().NextWake(options_.owner);
             return absl::OkStatus();
           },
       .committed = [this, pulse](const absl::Status& status) { Finish(*pulse, status); }});
}

// In the order of their due times, and all of them alike: nothing here may ask whether there was a
// reaction. A draw that fails holds up those behind it.
void WindowTimer::DrawDue(Transaction& transaction, Pulse& pulse) const {
  auto rows = transaction.tables.reports().Awake(options_.owner, ReportState::kOpen, pulse.now,
                                                 kRowsPerLook);
  if (rows.empty()) return;
  pulse.more = pulse.more || rows.size() == kRowsPerLook;
  for (ReportRow& row : rows) {
    // Under another policy there is nothing that the user's debit was for.
    if (row.policy != options_.policy || pulse.model_changed) {
      transaction.tables.reports().Delete(row.number);
      pulse.rejected.push_back(row.number);
    } else if (!DrawOne(transaction, row, pulse)) {
      break;
    }
  }
  transaction.tables.rows().NoteErasure();  // erases from the log what was held
}

bool WindowTimer::DrawOne(Transaction& transaction, ReportRow& row, Pulse& pulse) const {
  const SecretBytes held = std::move(row.opening.held);
  const bool reacted = row.opening.reacted;
  row.state = ReportState::kOutbound;
  const auto step = services_.mechanism->Release(transaction, row, held,
                                                 {.payment = Payment::kDebited,
                                                  .epoch = pulse.epoch,
                                                  .now = pulse.now,
                                                  .forget_at = pulse.now + options_.remember});
  if (step.ok() && *step == Release::kAfterCommit) {
    pulse.more = true;  // its stream is debited with this look
    return false;
  }
  if (step.ok() && *step == Release::kDone) {
    transaction.tables.ForgetDrawnAround(row.number, pulse.now);
    if (!reacted) ++pulse.defaulted;  // for the application's own statistics
    if (row.stream == 0) {
      pulse.leaving.push_back(ToOutbound(std::move(row)));
    } else {
      transaction.tables.reports().Delete(row.number);
      ++pulse.steps[row.stream];
    }
    return true;
  }
  if (!step.ok() && step.status().code() != absl::StatusCode::kFailedPrecondition) {
    pulse.failed = true;
    return false;
  }
  transaction.tables.reports().Delete(row.number);
  pulse.rejected.push_back(row.number);  // the stream takes no more steps
  return true;
}

// Takes up reports that an earlier client was sending, or at a start could not deliver. They are
// drawn, so they leave whatever the clock says.
void WindowTimer::TakeUp(Transaction& transaction, Pulse& pulse) const {
  auto rows = transaction.tables.reports().Awake(options_.owner, ReportState::kReady,
                                                 absl::InfiniteFuture(), kRowsPerLook);
  const bool refused = options_.at_start && pulse.model_changed;
  pulse.more = pulse.more || rows.size() == kRowsPerLook;
  for (ReportRow& row : rows) {
    if (refused || !options_.deliverable.contains(row.policy)) {
      transaction.tables.reports().Delete(row.number);
      pulse.rejected.push_back(row.number);
      continue;
    }
    row.state = ReportState::kOutbound;
    transaction.tables.reports().Put(row);
    pulse.leaving.push_back(ToOutbound(std::move(row)));
  }
}

void WindowTimer::TakeUpSteps(Transaction& transaction, Pulse& pulse) const {
  pulse.steps.clear();
  if (pulse.more && !pulse.failed) return;  // with the last look
  if (pulse.model_changed) return;
  StreamRows& streams = transaction.tables.streams();
  for (const StreamRow& stream : streams.Of(options_.policy, {})) {
    if (stream.owner != options_.owner) continue;
    if (const int steps = streams.CountSteps(stream.id); steps > 0) pulse.steps[stream.id] = steps;
  }
}

void WindowTimer::HandOver(Pulse& pulse) {
  services_.counters->reports_queued += pulse.defaulted;
  services_.counters->reports_defaulted += pulse.defaulted;
  for (const DecisionNumber number : pulse.rejected)
    services_.pending->Ended(number, Delivery::kRejected);
  for (const auto& [stream, steps] : pulse.steps) {
    services_.pending->Begin(steps);
    services_.stream_outbox->Wake(stream, steps);
  }
  if (pulse.leaving.empty()) return;
  services_.pending->Begin(static_cast<std::int64_t>(pulse.leaving.size()));
  services_.activations->Deliver(std::move(pulse.leaving));
}

void WindowTimer::Finish(Pulse& pulse, const absl::Status& status) {
  if (status.ok()) HandOver(pulse);
  const bool failed = pulse.failed || !status.ok();
  looking_ = !closed_ && !failed && (pulse.more || again_);
  again_ = false;
  if (looking_) return Look();
  if (failed) {
    Plan(services_.clock->Now() + kRetry);
  } else if (pulse.next) {
    Plan(*pulse.next);
  } else {
    planned_at_ = absl::InfiniteFuture();
  }
  services_.pending->End();
}

}  // namespace bandana::device
