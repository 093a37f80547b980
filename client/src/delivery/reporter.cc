#include "client/src/delivery/reporter.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "client/src/privacy/release.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// One Report on its way into the store.
struct Reporter::Call {
  Handle handle;
  SecretBytes held;  // the raw reward is gone
  Queued queued;
  Done done;
  bool has_slot = false;
  Release step = Release::kAlreadyDrawn;
  OutboundReport outbound;
  StreamId stream = 0;  // counters
};

Reporter::Reporter(Options options, const Seams& seams)
    : options_(std::move(options)),
      seams_(seams),
      clock_(seams.clock),
      slots_(options_.queue_reports_max) {}

void Reporter::Start(int adopted, const std::map<StreamId, int>& waiting) {
  slots_.Force(adopted);
  if (adopted > 0) services_.timer->Tick();
  for (const auto& [stream, steps] : waiting) {
    slots_.Force(steps);
    Stepped(stream, steps);
  }
}

void Reporter::Stepped(StreamId stream, int steps) {
  {
    const std::lock_guard lock(mutex_);
    busy_ += steps;
  }
  services_.stream_outbox->Wake(stream);
}

absl::Status Reporter::Reserve() {
  if (slots_.TryAcquire()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the report queue is full: ", options_.queue_reports_max,
                   " decisions are open or wait for the server"));
}

void Reporter::Open(const Handle& decision, Queued opened) {
  // Without entropy the report merely leaves without jitter.
  const WindowTimes times =
      ScheduleWindow(clock_->Now(), *options_.window, SystemBits().NextWord().value_or(0));
  auto row = std::make_shared<ReportRow>();
  row->number = decision.number;
  row->policy = options_.policy;
  row->owner = options_.owner;
  row->state = ReportState::kOpen;
  row->wake_at = row->due_at = times.leave;
  row->user = decision.user;
  row->token = decision.token;
  row->features = decision.features;
  ShowArm(decision.shown, options_.dimension, *row);
  row->opening.epoch = services_.epoch->value;
  row->opening.close = times.close;
  const auto window = WindowOf(decision.windows, decision.shown);
  if (window) AppendWindow(*window, row->opening.window);
  row->opening.held = services_.mechanism->Hold(std::nullopt, window);
  services_.store->Enqueue(
      [this, row](Store::Transaction& transaction) {
        BANDANA_RETURN_IF_ERROR(services_.mechanism->Debit(transaction, row->user));
        transaction.tables.PutReport(*row);
        return absl::OkStatus();
      },
      [this, due = times.leave, opened = std::move(opened)](absl::Status status) {
        if (status.ok()) {
          services_.timer->Expect(due);
        } else {
          slots_.Release();
        }
        opened(std::move(status));
      });
}

void Reporter::Report(Handle handle, std::optional<double> reward, Queued queued, Done done) {
  auto call = std::make_shared<Call>();
  call->handle = std::move(handle);
  call->queued = std::move(queued);
  call->done = std::move(done);
  if (reward && std::isnan(*reward)) reward.reset();
  if (reward && (*reward < options_.reward_min || *reward > options_.reward_max)) {
    ++services_.counters->rewards_clipped;
  }
  call->held =
      services_.mechanism->Hold(reward, WindowOf(call->handle.windows, call->handle.shown));
  Begin();
  if (absl::Status refused = refusal(); !refused.ok()) return Answer(call, refused, std::nullopt);
  if (has_window()) return EnqueueDraw(call);  // its place was taken by the Select
  slots_.Acquire(options_.when_full, [this, call](const absl::Status& status) {
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

void Reporter::EnqueueDraw(const CallPtr& call) {
  auto take = [this, call](Store::Transaction& transaction) -> absl::Status {
    BANDANA_ASSIGN_OR_RETURN(call->step, Take(transaction, *call));
    return absl::OkStatus();
  };
  auto drawn = [this, call](const absl::Status& status) { OnDrawn(call, status); };
  if (has_window()) return services_.store->EnqueueReaction(std::move(take), std::move(drawn));
  services_.store->Enqueue(std::move(take), std::move(drawn));
}

absl::StatusOr<Release> Reporter::Take(Store::Transaction& transaction, Call& call) {
  // Asked again here: the model may have changed while the call waited for a place.
  BANDANA_RETURN_IF_ERROR(refusal());
  if (has_window()) return HoldInWindow(transaction, call);
  return DrawAtOnce(transaction, call);
}

absl::StatusOr<Release> Reporter::DrawAtOnce(Store::Transaction& transaction, Call& call) {
  const absl::Time now = clock_->Now();
  ReportRow row;
  row.number = call.handle.number;
  row.policy = options_.policy;
  row.owner = options_.owner;
  row.state = ReportState::kOutbound;
  row.wake_at = row.due_at = now;
  row.user = call.handle.user;
  row.token = call.handle.token;
  row.features = call.handle.features;
  ShowArm(call.handle.shown, options_.dimension, row);
  row.opening.epoch = services_.epoch->value;
  if (const auto window = WindowOf(call.handle.windows, call.handle.shown)) {
    AppendWindow(*window, row.opening.window);
  }
  BANDANA_ASSIGN_OR_RETURN(
      const Release step,
      services_.mechanism->Release(
          transaction, row, call.held,
          {.payment = Payment::kBlock, .now = now, .forget_at = now + options_.remember}));
  if (step != Release::kDone) return step;
  transaction.tables.ForgetDrawnAround(row.number, now);
  call.stream = row.stream;
  call.outbound = ToOutbound(std::move(row));
  return step;
}

// A reaction overwrites what is held, and nothing else: when the report leaves, and all of it but
// the draw, stands since the decision.
Release Reporter::HoldInWindow(Store::Transaction& transaction, Call& call) const {
  auto row = transaction.tables.FindReport(call.handle.number);
  if (!row) return Release::kTooLate;
  if (row->state != ReportState::kOpen || row->opening.reacted) return Release::kAlreadyDrawn;
  // By the clock, not by whether the timer has come to it.
  if (clock_->Now() >= row->opening.close) return Release::kTooLate;
  // Its answer will come to the client that made the selection.
  if (row->owner != options_.owner) call.done = nullptr;
  row->opening.reacted = true;
  row->opening.held = std::move(call.held);
  if (seams_.on_reaction) seams_.on_reaction(transaction, *row, *services_.mechanism);
  transaction.tables.PutReport(*row);
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
  if (call->done) {
    const std::lock_guard lock(mutex_);
    waiters_[call->handle.number] = std::move(call->done);
  }
  if (has_window()) {
    // The timer lets it leave when it is due.
    call->queued(absl::OkStatus());
    return End();
  }
  if (call->stream != 0) {
    services_.stream_outbox->Wake(call->stream);
  } else {
    std::vector<OutboundReport> reports;
    reports.push_back(std::move(call->outbound));
    services_.outbox->Add(std::move(reports));
  }
  call->queued(absl::OkStatus());
}

void Reporter::Answer(const CallPtr& call, const absl::Status& status,
                      std::optional<Delivery> delivery) {
  if (delivery && call->done) call->done(*delivery);
  call->queued(status);
  if (call->has_slot) slots_.Release();
  End();
}

void Reporter::Leave(std::vector<OutboundReport> reports) {
  {
    const std::lock_guard lock(mutex_);
    busy_ += static_cast<std::int64_t>(reports.size());
  }
  services_.outbox->Add(std::move(reports));
}

void Reporter::Settled(DecisionNumber number, Delivery delivery) {
  Inform(number, delivery);
  slots_.Release();
  End();
}

void Reporter::Defaulted(DecisionNumber) {
  ++services_.counters->reports_queued;
  ++services_.counters->reports_defaulted;
}

void Reporter::Rejected(DecisionNumber number) {
  services_.counters->Count(Delivery::kRejected);
  Inform(number, Delivery::kRejected);
  slots_.Release();
}

void Reporter::Inform(DecisionNumber number, Delivery delivery) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiters_.find(number);
    if (found == waiters_.end()) return;
    done = std::move(found->second);
    waiters_.erase(found);
  }
  done(delivery);
}

void Reporter::Begin() {
  const std::lock_guard lock(mutex_);
  ++busy_;
}

void Reporter::End() {
  const std::lock_guard lock(mutex_);
  if (--busy_ == 0) idle_.notify_all();
}

void Reporter::Refuse(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  if (refusal_.ok()) refusal_ = status;
}

absl::Status Reporter::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

bool Reporter::Flush(absl::Duration timeout) {
  services_.timer->Tick();
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24))),
                        [this] { return busy_ == 0; });
}

void Reporter::Close() {
  Refuse(Unavailable("the client is closing"));
  slots_.Close();
}

}  // namespace bandana::device
