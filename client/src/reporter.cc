#include "client/src/reporter.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "client/src/release.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// One Report on its way into the store.
struct Reporter::Call {
  Handle handle;
  int shown = 0;
  std::optional<Clipped> clipped;           // local models: the raw reward is gone
  std::optional<HeldReward> held;           // counters: as well
  std::optional<ContextReward> of_context;  // private contexts: as well
  std::optional<double> reward;             // others
  Queued queued;
  Done done;
  bool has_slot = false;
  Release step = Release::kAlreadyDrawn;
  OutboundReport outbound;
  StreamId stream = 0;  // counters
};

Reporter::Reporter(Options options, const Seams& seams)
    : options_(std::move(options)), clock_(seams.clock), slots_(options_.queue_reports_max) {}

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

absl::Status Reporter::Debit(Store::Transaction& transaction, const std::string& user) const {
  if (services_.contexts != nullptr) return services_.contexts->Debit(transaction, user);
  return services_.streams != nullptr ? services_.streams->Debit(transaction, user)
                                      : services_.privatizer->Debit(transaction, user);
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
  // The order of a stream's steps is seen by the server: they are taken when they leave, by a time
  // that no reaction moves, and until then the reaction is held.
  const absl::Time close = services_.streams != nullptr ? times.leave : times.close;
  ReportRow row = {.number = decision.number,
                   .policy = options_.policy,
                   .owner = options_.owner,
                   .state = ReportState::kOpen,
                   .wake_at = close,
                   .due_at = times.leave,
                   .user = decision.user,
                   .token = decision.token,
                   .features = decision.features,
                   .report = decision.windows};
  services_.store->Enqueue(
      [this, row = std::move(row)](Store::Transaction& transaction) {
        BANDANA_RETURN_IF_ERROR(Debit(transaction, row.user));
        transaction.tables.PutReport(row);
        return absl::OkStatus();
      },
      [this, close, opened = std::move(opened)](absl::Status status) {
        if (status.ok()) {
          services_.timer->Expect(close);
        } else {
          slots_.Release();
        }
        opened(std::move(status));
      });
}

void Reporter::Report(Handle handle, std::optional<double> reward, int shown, Queued queued,
                      Done done) {
  auto call = std::make_shared<Call>();
  call->handle = std::move(handle);
  call->shown = shown;
  call->queued = std::move(queued);
  call->done = std::move(done);
  if (reward && std::isnan(*reward)) reward.reset();
  if (reward && (*reward < options_.reward_min || *reward > options_.reward_max)) {
    ++services_.counters->rewards_clipped;
  }
  if (services_.contexts != nullptr) {
    call->of_context = services_.contexts->Clip(reward);
  } else if (services_.privatizer != nullptr) {
    call->clipped = services_.privatizer->Clip(reward, WindowOf(call->handle.windows, shown));
  } else if (services_.streams != nullptr) {
    call->held = services_.streams->Clip(reward);
  } else {
    call->reward = reward;
  }
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
  services_.store->Enqueue(
      [this, call](Store::Transaction& transaction) -> absl::Status {
        BANDANA_ASSIGN_OR_RETURN(call->step, Draw(transaction, *call));
        return absl::OkStatus();
      },
      [this, call](const absl::Status& status) { OnDrawn(call, status); });
}

absl::StatusOr<Release> Reporter::Draw(Store::Transaction& transaction, Call& call) {
  // Asked again here: the model may have changed while the call waited for a place.
  BANDANA_RETURN_IF_ERROR(refusal());
  return has_window() ? DrawInWindow(transaction, call) : DrawAtOnce(transaction, call);
}

absl::StatusOr<Release> Reporter::DrawAtOnce(Store::Transaction& transaction, Call& call) {
  const absl::Time now = clock_->Now();
  ReportRow row = {.number = call.handle.number,
                   .policy = options_.policy,
                   .owner = options_.owner,
                   .state = ReportState::kOutbound,
                   .wake_at = now,
                   .due_at = now,
                   .user = call.handle.user,
                   .token = call.handle.token,
                   .features = call.handle.features};
  if (services_.streams != nullptr) {
    return services_.streams->Step(transaction, row, call.shown, *call.held, Payment::kBlock, now,
                                   now + options_.remember, call.stream);
  }
  return Write(transaction, call, row, Payment::kBlock);
}

absl::StatusOr<Release> Reporter::DrawInWindow(Store::Transaction& transaction, Call& call) {
  auto row = transaction.tables.FindReport(call.handle.number);
  if (!row) return Release::kTooLate;
  if (row->state != ReportState::kOpen) return Release::kAlreadyDrawn;
  // By the clock, not by whether the timer has come to it.
  if (clock_->Now() >= row->wake_at) return Release::kTooLate;
  // Its answer will come to the client that made the selection.
  if (row->owner != options_.owner) call.done = nullptr;
  if (services_.streams != nullptr) {
    if (!row->report.empty()) return Release::kAlreadyDrawn;
    row->report = call.held->Pack(call.shown).get();
    transaction.tables.PutReport(*row);
    Erase(row->report);
    return Release::kDone;
  }
  row->state = ReportState::kReady;
  row->wake_at = row->due_at;
  return Write(transaction, call, *row, Payment::kDebited);
}

absl::StatusOr<Release> Reporter::Write(Store::Transaction& transaction, Call& call, ReportRow& row,
                                        Payment payment) {
  const absl::Time now = clock_->Now();
  const absl::Time forget_at = now + options_.remember;
  const int shown = ShowArm(call.shown, options_.dimension, row);
  Release step = Release::kDone;
  if (services_.contexts != nullptr) {
    BANDANA_ASSIGN_OR_RETURN(
        step, services_.contexts->Release(transaction, row, *call.of_context, payment, forget_at));
  } else if (services_.privatizer != nullptr) {
    BANDANA_ASSIGN_OR_RETURN(step, services_.privatizer->Release(
                                       transaction, row, shown, *call.clipped, payment, forget_at));
  } else {
    step = ReleaseRaw(transaction, row, shown, call.reward, forget_at);
  }
  if (step != Release::kDone) return step;
  transaction.tables.ForgetDrawnAround(row.number, now);
  call.outbound = {.number = row.number,
                   .user = std::move(row.user),
                   .features = std::move(row.features),
                   .report = std::move(row.report),
                   .due_at = row.due_at};
  return step;
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
  if (services_.streams != nullptr) {
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
