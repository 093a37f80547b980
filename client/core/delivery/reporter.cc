#include "client/core/delivery/reporter.h"

#include <cmath>
#include <utility>

#include "client/core/adopted_tokens.h"
#include "client/core/callback.h"
#include "client/core/release.h"
#include "common/base/status.h"
#include "common/promise/window_schedule.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// One Report on its way into the store.
struct Reporter::Call {
  Handle handle;
  SecretBytes held;  // the raw reward is gone
  Queued queued;
  Done done;
  bool has_slot = false;
  View view;
  Release step = Release::kAlreadyDrawn;
  OutboundReport outbound;
  StreamId stream = 0;  // counters
};

struct Reporter::Activation {
  bool adopts = false;
  Deferral deferral;
  WindowTimes times;
  ReportRow row;  // where the window is open here as well
  View view;
  bool opened = false;
  Activations::Queue calls;  // of it
};

void Reporter::Start(int adopted, const std::map<StreamId, int>& waiting,
                     Activations::Queue activations) {
  services_.activations->Send(std::move(activations));
  services_.pending->slots().Force(adopted);
  if (adopted > 0 && !options_.at_start) services_.timer->Tick();
  for (const auto& [stream, steps] : waiting) {
    services_.pending->slots().Force(steps);
    if (options_.at_start) continue;
    services_.pending->Begin(steps);
    services_.stream_outbox->Wake(stream, steps);
  }
}

ReportRow Reporter::RowOf(const Handle& decision, std::uint64_t epoch) const {
  ReportRow row;
  row.number = decision.number;
  row.policy = options_.policy;
  row.owner = options_.owner;
  row.user = decision.user;
  row.token = decision.token;
  row.features = decision.features;
  ShowArm(decision.shown, decision.ranks, options_.dimension, row);
  row.opening.epoch = decision.deferral ? decision.deferral->epoch : epoch;
  if (const auto window = WindowOf(decision.windows, decision.shown)) {
    AppendWindow(*window, row.opening.window);
  }
  return row;
}

absl::Status Reporter::QueueIsFull(int events) const {
  return absl::ResourceExhaustedError(absl::StrCat("the report queue is full: of its ",
                                                   options_.queue_reports_max,
                                                   " places fewer than ", events, " are free"));
}

absl::Status Reporter::Reserve(int events) {
  return services_.pending->slots().TryAcquire(events) ? absl::OkStatus() : QueueIsFull(events);
}

ReportRow Reporter::OpenRowOf(const Handle& decision, const WindowTimes& times) const {
  ReportRow row = RowOf(decision, services_.epoch->value());
  row.state = ReportState::kOpen;
  row.wake_at = row.due_at = times.leave;
  row.opening.close = times.close;
  row.opening.held =
      services_.mechanism->Hold(std::nullopt, WindowOf(decision.windows, decision.shown));
  return row;
}

void Reporter::Open(std::span<const Handle> decisions, Queued opened) {
  if (const absl::Status& refused = services_.pending->refusal(); !refused.ok()) {
    CancelReservation(static_cast<int>(decisions.size()));
    return opened(refused);
  }
  // One jitter for all: which of them had a reaction moves none. Without entropy the reports merely
  // leave without jitter.
  const WindowTimes times =
      ScheduleWindow(services_.clock->Now(), *options_.window, SystemBits().NextWord().value_or(0));
  auto rows = std::make_shared<std::vector<ReportRow>>();
  for (const Handle& decision : decisions) rows->push_back(OpenRowOf(decision, times));
  const int events = static_cast<int>(rows->size());
  services_.journal->Enqueue(
      [this, rows, events](Transaction& transaction) {
        BANDANA_RETURN_IF_ERROR(
            services_.mechanism->Debit(transaction, rows->front().user, events));
        for (const ReportRow& row : *rows) transaction.tables.reports().Put(row);
        return absl::OkStatus();
      },
      [this, events, due = times.leave, opened = std::move(opened)](absl::Status status) {
        if (status.ok()) {
          services_.timer->Expect(due);
        } else {
          CancelReservation(events);
        }
        opened(std::move(status));
      });
}

void Reporter::Defer(Handle& decision) const {
  decision.deferral = {.decided = services_.clock->Now(), .epoch = services_.epoch->value()};
}

absl::Status Reporter::MayActivate(const View& view, const Deferral& deferral,
                                   const WindowTimes& times) const {
  BANDANA_RETURN_IF_ERROR(view.refusal);
  if (deferral.epoch != view.epoch) {
    return FailedPrecondition("the model is in another epoch than it was at the decision");
  }
  if (options_.activated_within) {
    if (view.now < deferral.decided + *options_.activated_within) return absl::OkStatus();
    return FailedPrecondition("the decision is too old to be activated: the server takes that for ",
                              absl::FormatDuration(*options_.activated_within), " after it");
  }
  // With the longest jitter: whether a decision can be activated follows from its age alone.
  const absl::Time latest = times.close + kWindowGuard + WindowJitterMax(*options_.window);
  if (latest + kWindowRetry < deferral.decided + options_.token_lifetime) return absl::OkStatus();
  return FailedPrecondition("the decision is too old to be activated: its window and its report ",
                            "must end within token_lifetime, ",
                            absl::FormatDuration(options_.token_lifetime), ", of it");
}

absl::Status Reporter::OpenOnce(Transaction& transaction, Activation& it) const {
  Tables& tables = transaction.tables;
  if (tables.reports().Find(it.row.number)) return absl::OkStatus();  // a repeat
  if (const auto before = ReleasedBefore(tables, it.row.number)) {
    if (*before == Release::kAlreadyDrawn) return absl::OkStatus();
    return FailedPrecondition("the decision is too old to be activated: it is forgotten");
  }
  BANDANA_RETURN_IF_ERROR(MayActivate(it.view, it.deferral, it.times));
  AdoptedTokens adopted(tables);
  if (it.adopts) {
    BANDANA_RETURN_IF_ERROR(adopted.Check(it.row.token, it.deferral.decided, it.view.now));
  }
  if (has_window()) {
    BANDANA_RETURN_IF_ERROR(services_.mechanism->Debit(transaction, it.row.user, 1));
    tables.reports().Put(it.row);
  }
  if (it.adopts) adopted.Add(it.row.token, it.view.now + options_.remember, it.view.now);
  if (options_.activated_within) {
    it.calls.push_back(services_.activations->Keep(tables, it.row.number, it.row.token));
  }
  it.opened = true;
  return absl::OkStatus();
}

void Reporter::Activate(const Handle& decision, Queued activated) {
  Activate(decision, /*adopts=*/false, std::move(activated));
}

void Reporter::Adopt(const Handle& decision, Queued adopted) {
  Activate(decision, /*adopts=*/true, std::move(adopted));
}

void Reporter::Activate(const Handle& decision, bool adopts, Queued activated) {
  WindowTimes times;
  if (has_window()) {
    // Without entropy the report merely leaves without jitter.
    times = ScheduleWindow(services_.clock->Now(), *options_.window,
                           SystemBits().NextWord().value_or(0));
    if (absl::Status reserved = Reserve(1); !reserved.ok()) return activated(std::move(reserved));
  } else if (services_.activations->IsFull()) {
    const bool repeats = services_.activations->IsWaiting(decision.number);
    return activated(repeats ? absl::OkStatus() : QueueIsFull(1));
  }
  auto it = std::make_shared<Activation>(Activation{.adopts = adopts,
                                                    .deferral = *decision.deferral,
                                                    .times = times,
                                                    .row = OpenRowOf(decision, times),
                                                    .view = {},
                                                    .calls = {}});
  services_.journal->Push(
      {.before = [this, it] { it->view = Look(/*seen=*/true); },
       .operation = [this, it](Transaction& transaction) { return OpenOnce(transaction, *it); },
       .committed =
           [this, it, activated = std::move(activated)](const absl::Status& status) {
             const bool opened = status.ok() && it->opened;
             if (opened) services_.activations->Send(std::move(it->calls));
             if (has_window())
               opened ? services_.timer->Expect(it->times.leave) : CancelReservation(1);
             activated(status);
           }});
}

void Reporter::Report(Handle handle, std::optional<double> reward, Queued queued, Done done) {
  auto call = std::make_shared<Call>();
  call->handle = std::move(handle);
  call->queued = std::move(queued);
  call->done = std::move(done);
  if (reward && std::isnan(*reward)) reward.reset();
  if (reward && (*reward < options_.range.min || *reward > options_.range.max)) {
    ++services_.counters->rewards_clipped;
  }
  call->held =
      services_.mechanism->Hold(reward, WindowOf(call->handle.windows, call->handle.shown));
  services_.pending->Begin();
  if (absl::Status refused = services_.pending->refusal(); !refused.ok()) {
    return Answer(call, refused, std::nullopt);
  }
  if (has_window()) return EnqueueDraw(call);  // its place was taken by the Select
  services_.pending->slots().Acquire(options_.when_full, [this, call](const absl::Status& status) {
    if (status.ok()) {
      call->has_slot = true;
      return EnqueueDraw(call);
    }
    if (status.code() != absl::StatusCode::kResourceExhausted) {
      return Answer(call, status, std::nullopt);
    }
    services_.counters->Count(Delivery::kDropped);
    Answer(call, status, Delivery::kDropped);
  });
}

Reporter::View Reporter::Look(bool seen) const {
  const MonotoneClock& clock = *services_.clock;
  return {.now = seen ? clock.Now() : clock.Peek(),
          .epoch = services_.epoch->value(),
          .refusal = services_.pending->refusal()};
}

void Reporter::EnqueueDraw(const CallPtr& call) {
  services_.journal->Push(
      {.before = [this, call] { call->view = Look(/*seen=*/!has_window()); },
       .operation = [this, call](Transaction& transaction) -> absl::Status {
         BANDANA_ASSIGN_OR_RETURN(call->step, Take(transaction, *call));
         return absl::OkStatus();
       },
       .committed = [this, call](const absl::Status& status) { OnDrawn(call, status); },
       .reaction = has_window()});
}

absl::StatusOr<Release> Reporter::Take(Transaction& transaction, Call& call) {
  // Asked again here: the model may have changed while the call waited for a place.
  BANDANA_RETURN_IF_ERROR(call.view.refusal);
  if (has_window()) return HoldInWindow(transaction, call);
  return DrawAtOnce(transaction, call);
}

absl::StatusOr<Release> Reporter::DrawAtOnce(Transaction& transaction, Call& call) {
  const auto& [now, epoch, refusal] = call.view;
  ReportRow row = RowOf(call.handle, epoch);
  row.state = ReportState::kOutbound;
  row.wake_at = row.due_at = now;
  BANDANA_ASSIGN_OR_RETURN(const Release step,
                           services_.mechanism->Release(transaction, row, call.held,
                                                        {.payment = Payment::kBlock,
                                                         .epoch = epoch,
                                                         .now = now,
                                                         .forget_at = now + options_.remember}));
  if (step != Release::kDone) return step;
  transaction.tables.ForgetDrawnAround(row.number, now);
  call.stream = row.stream;
  call.outbound = ToOutbound(std::move(row));
  return step;
}

// A reaction overwrites what is held, and nothing else: when the report leaves, and all of it but
// the draw, stands since the decision.
absl::StatusOr<Release> Reporter::HoldInWindow(Transaction& transaction, Call& call) const {
  auto row = transaction.tables.reports().Find(call.handle.number);
  if (!row && call.handle.deferral && !ReleasedBefore(transaction.tables, call.handle.number)) {
    return FailedPrecondition("the decision is deferred, and is no event before Activate");
  }
  if (!row) return Release::kTooLate;
  if (row->state != ReportState::kOpen || row->opening.reacted) return Release::kAlreadyDrawn;
  // By the clock, not by whether the timer has come to it.
  if (call.view.now >= row->opening.close) return Release::kTooLate;
  // Its answer will come to the client that made the selection.
  if (row->owner != options_.owner) call.done = nullptr;
  row->opening.reacted = true;
  row->opening.held = std::move(call.held);
  if (services_.on_reaction) services_.on_reaction(transaction, *row, *services_.mechanism);
  transaction.tables.reports().Put(*row);
  return Release::kDone;
}

void Reporter::OnDrawn(const CallPtr& call, const absl::Status& status) {
  if (!status.ok()) return Answer(call, status, std::nullopt);
  switch (call->step) {
    case Release::kDone:
      return OnReleased(call);
    case Release::kAfterCommit:
      return EnqueueDraw(call);
    case Release::kAlreadyDrawn:
      return Answer(call, absl::OkStatus(), Delivery::kDuplicate);
    case Release::kTooLate:
      return Answer(call, absl::OkStatus(), Delivery::kExpired);
  }
}

void Reporter::OnReleased(const CallPtr& call) {
  ++services_.counters->reports_queued;
  if (call->done) services_.pending->Await(call->handle.number, std::move(call->done));
  if (has_window()) {
    // The timer lets it leave when it is due.
    call->queued(absl::OkStatus());
    return services_.pending->End();
  }
  if (call->stream != 0) {
    services_.stream_outbox->Wake(call->stream, 1);
  } else {
    std::vector<OutboundReport> reports;
    reports.push_back(std::move(call->outbound));
    services_.activations->Deliver(std::move(reports));
  }
  call->queued(absl::OkStatus());
}

void Reporter::Answer(const CallPtr& call, const absl::Status& status,
                      std::optional<Delivery> delivery) {
  if (delivery && call->done) call->done(*delivery);
  call->queued(status);
  if (call->has_slot) services_.pending->slots().Release();
  services_.pending->End();
}

void Reporter::Flush(Callback<void()> flushed) {
  services_.timer->Tick();
  services_.pending->WhenIdle(std::move(flushed));
}

}  // namespace bandana::device
