#include "server/models/apply_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/promise/event_rule.h"

namespace bandana::server {
namespace {

constexpr absl::Duration kTickMin = absl::Milliseconds(1);
// Applied between two looks at what waits. Blocks end at multiples of it, so that a log without
// pauses is applied in the same blocks by whoever reads it.
constexpr std::uint64_t kBlockEntries = 64;

// Whoever applies the log notes what it has computed after multiples of it, and where the log
// stands still.
constexpr std::uint64_t kNoteEntries = 16 * kBlockEntries;
constexpr std::size_t kNotesMax = 8;

// Before an entry of the clock that the log did not take is tried again.
constexpr absl::Duration kAppendRetry = absl::Milliseconds(100);

// Between two attempts to make a position durable as published.
constexpr absl::Duration kPublishRetry = absl::Seconds(1);

// Windows close a sixteenth of their length late at most, so that a stream of decisions costs few
// time entries.
absl::Duration TickMin(const ModelSpec& spec, absl::Duration tick_max) {
  return std::clamp(EventRuleOf(spec.public_spec).window / 16, kTickMin,
                    std::max(kTickMin, tick_max));
}

}  // namespace

ApplyLoop::ApplyLoop(const ModelSpec& spec, const EventPath& path, const LogReader& log,
                     UserIndex& users, LogClock& clock, absl::Duration tick_max,
                     std::uint64_t rebuild_entries, std::unique_ptr<Learner> learner, Start start,
                     Hooks hooks)
    : spec_(spec),
      path_(path),
      log_(log),
      users_(users),
      clock_(clock),
      tick_max_(tick_max),
      rebuild_entries_(rebuild_entries),
      tick_min_(TickMin(spec, tick_max)),
      hooks_(std::move(hooks)),
      instance_(start.instance),
      fixed_(start.fixed),
      learner_(std::move(learner)),
      state_(std::move(start.state)),
      published_(start.published),
      unshown_epochs_(start.unshown_epochs),
      checkpoint_time_(clock.Steady()),
      begun_(clock.Now()),
      checkpoint_sequence_(start.checkpoint_sequence) {
  posterior_.store(std::make_shared<const PosteriorSnapshot>(learner_->dimension(),
                                                             learner_->Prior(), learner_->nodes()));
  committed_ = state_.position.sequence;
  ledger_.store(std::make_shared<const Ledger>(state_.ledger));
  ledger_debits_ = state_.ledger.debits();
  status_ = Publish();
}

void ApplyLoop::Begin() {
  threaded_ = true;
  thread_ = std::thread([this] { Run(); });
}

ApplyLoop::~ApplyLoop() { Stop(); }

void ApplyLoop::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  progress_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ApplyLoop::Committed(std::uint64_t sequence) {
  {
    std::lock_guard lock(mutex_);
    if (sequence <= committed_) return;
    committed_ = sequence;
  }
  wake_.notify_one();
}

absl::Status ApplyLoop::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

absl::Status ApplyLoop::withheld() const {
  std::lock_guard lock(mutex_);
  return withheld_;
}

absl::Status ApplyLoop::WaitApplied(std::uint64_t sequence) {
  std::unique_lock lock(mutex_);
  ++waiters_;
  wake_.notify_one();
  lock.unlock();
  StepForWaiter();
  lock.lock();
  progress_.wait(lock, [&] {
    const bool there = applied() >= sequence && posterior_fresh_.load();
    return there || !status_.ok() || !withheld_.ok() || stop_;
  });
  --waiters_;
  if (!withheld_.ok()) return Unavailable("durable, but not published: ", withheld_.message());
  if (applied() >= sequence) return absl::OkStatus();
  return status_.ok() ? Unavailable("the model is closing") : status_;
}

absl::StatusOr<ApplyLoop::Captured> ApplyLoop::Capture() { return Ask(nullptr); }

absl::Status ApplyLoop::Look(Looker look) { return Ask(std::move(look)).status(); }

absl::StatusOr<ApplyLoop::Captured> ApplyLoop::Ask(Looker look) {
  std::future<absl::StatusOr<Captured>> result;
  {
    std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    if (stop_) return Unavailable("the model is closing");
    captures_.push_back({committed_, {}, std::move(look)});
    result = captures_.back().result.get_future();
  }
  wake_.notify_one();
  StepForWaiter();
  return result.get();
}

void ApplyLoop::Run() {
  for (;;) {
    std::uint64_t through = 0;
    {
      const absl::Duration idle = IdleTime();
      std::unique_lock lock(mutex_);
      const auto work = [this] { return stop_ || HasWork(); };
      const absl::Duration wait = withheld_.ok() ? idle : kPublishRetry;
      wake_.wait_for(lock, absl::ToChronoMicroseconds(wait), work);
      if (stop_) break;
      through = committed_;
    }
    Pass(through);
  }
  std::lock_guard lock(mutex_);
  for (CaptureRequest& request : captures_) {
    request.result.set_value(Unavailable("the model is closing"));
  }
  captures_.clear();
}

void ApplyLoop::Step() {
  for (bool more = true; more;) {
    std::uint64_t through = 0;
    {
      std::lock_guard lock(mutex_);
      through = committed_;
    }
    Pass(through);
    std::lock_guard lock(mutex_);
    more = HasWork();
  }
}

bool ApplyLoop::HasWork() const {
  const bool goes_on = status_.ok() && withheld_.ok();
  const bool more = goes_on && committed_ > applied();
  const bool awaited = goes_on && waiters_ > 0 && !posterior_fresh_.load();
  return !captures_.empty() || more || awaited;
}

void ApplyLoop::Pass(std::uint64_t through) {
  absl::Status done = status();
  if (done.ok()) {
    if (!withheld().ok()) done = Publish();
    const bool goes_on = done.ok() && withheld().ok();
    if (goes_on && through > applied()) done = ApplyBlock(through);
    if (goes_on && done.ok() && RefreshDue()) done = Refresh();
    if (goes_on && done.ok()) NoteReleased();
    std::lock_guard lock(mutex_);
    status_ = done;
  }
  progress_.notify_all();
  ServeCaptures();
  if (done.ok()) Tick();
}

absl::Time ApplyLoop::TimeDue() const {
  const absl::Time due = std::min(state_.windows.next_close(), hooks_.forget_due());
  // Also where nothing waits for it: a start compares its clock with the newest time in the log.
  if (state_.position.sequence == 0) return due;
  return std::min(due, std::max(state_.newest_time(), begun_) + clock_.ahead_max() / 4);
}

absl::Duration ApplyLoop::IdleTime() {
  if (time_entry_.in_flight || fade_entry_.in_flight) return tick_min_;
  const absl::Time time = std::max(TimeDue(), time_entry_.not_before);
  const absl::Time fade =
      std::max(state_.fading.NextEntry(spec_.half_life), fade_entry_.not_before);
  const absl::Duration due = std::min(time, fade) - clock_.Now();
  const absl::Duration refresh = learner_->stale()
                                     ? refreshed_ + spec_.refresh_interval - clock_.Steady()
                                     : absl::InfiniteDuration();
  return std::clamp(std::min(due, refresh), kTickMin, std::max(kTickMin, tick_max_));
}

absl::Status ApplyLoop::ApplyBlock(std::uint64_t through) {
  entries_.clear();
  const std::uint64_t sequence = state_.position.sequence;
  const auto to_edge = [&](std::uint64_t edges) { return edges - sequence % edges; };
  const int count = static_cast<int>(
      std::min({through - sequence, to_edge(kBlockEntries), to_edge(rebuild_entries_ / 2)}));
  BANDANA_RETURN_IF_ERROR(log_.Read(state_.position, count, entries_));
  Trace("durable");
  for (const LogEntry& entry : entries_) {
    BANDANA_RETURN_IF_ERROR(state_.Apply(entry, path_, users_, *learner_));
  }
  if (hooks_.applied) hooks_.applied(entries_);
  learner_->Flush(state_);
  clock_.Reach(state_.newest_time());
  Trace("drawn");
  if (learner_->stale()) posterior_fresh_ = false;
  BANDANA_RETURN_IF_ERROR(RemoveDrift());
  if (ledger_debits_ != state_.ledger.debits()) {
    ledger_debits_ = state_.ledger.debits();
    ledger_.store(std::make_shared<const Ledger>(state_.ledger));
  }
  return RefreshDue() ? Refresh() : Publish();
}

void ApplyLoop::NoteReleased() {
  const std::uint64_t sequence = state_.position.sequence;
  const absl::Time now = clock_.Now();
  bool due = sequence % kNoteEntries == 0;
  {
    const std::lock_guard lock(mutex_);
    const bool stands = sequence >= committed_ && now >= released_at_ + absl::Seconds(1);
    due = (due || stands) && (released_.empty() || released_.back().sequence != sequence);
  }
  if (!due) return;
  std::string bytes;
  ByteWriter out(bytes);
  state_.central.Encode(out);
  state_.sparse.Encode(out);
  const ReleasedBy noted{.sequence = sequence, .digest = Sha256Of(bytes)};
  released_at_ = now;
  const std::lock_guard lock(mutex_);
  released_.push_back(noted);
  if (released_.size() > kNotesMax) released_.erase(released_.begin());
}

ApplyLoop::Figures ApplyLoop::figures() const {
  Figures figures{.nodes = nodes_.load(std::memory_order_relaxed),
                  .grams_repaired = grams_repaired_.load(std::memory_order_relaxed)};
  const std::int64_t arm = best_arm_.load(std::memory_order_relaxed);
  if (arm >= 0) figures.best_arm = static_cast<std::uint32_t>(arm);
  return figures;
}

std::vector<ReleasedBy> ApplyLoop::released() const {
  const std::lock_guard lock(mutex_);
  return released_;
}

absl::Status ApplyLoop::RemoveDrift() {
  const std::uint64_t place = state_.position.sequence % rebuild_entries_;
  if (place != 0 && place != rebuild_entries_ / 2) return absl::OkStatus();
  if (learner_->stale()) BANDANA_RETURN_IF_ERROR(RefreshLearner());
  if (place == 0) {
    learner_->BeginRebuild();
  } else {
    learner_->SwapRebuilt();
  }
  return absl::OkStatus();
}

bool ApplyLoop::RefreshDue() {
  if (!learner_->stale()) return false;
  if (clock_.Steady() >= refreshed_ + spec_.refresh_interval) return true;
  std::lock_guard lock(mutex_);
  return waiters_ > 0;
}

absl::Status ApplyLoop::RefreshLearner() {
  BANDANA_RETURN_IF_ERROR(learner_->Refresh(state_));
  refreshed_ = clock_.Steady();
  posterior_fresh_ = true;
  return absl::OkStatus();
}

absl::Status ApplyLoop::Refresh() {
  BANDANA_RETURN_IF_ERROR(RefreshLearner());
  return Publish();
}

absl::Status ApplyLoop::PersistPublication() {
  if (published_ == state_.position) return absl::OkStatus();
  absl::Status persisted;
  if (hooks_.publishing) persisted = hooks_.publishing(state_);
  if (!persisted.ok()) persisted = absl::ResourceExhaustedError(persisted.message());
  {
    std::lock_guard lock(mutex_);
    withheld_ = persisted;
  }
  BANDANA_RETURN_IF_ERROR(persisted);
  published_ = state_.position;
  Trace("persisted");
  return absl::OkStatus();
}

absl::Status ApplyLoop::Publish() {
  std::vector<int> changed = learner_->TakeChangedNodes();
  if (!unpublished_.empty()) {
    changed.insert(changed.end(), unpublished_.begin(), unpublished_.end());
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    unpublished_.clear();
  }
  const std::uint64_t sequence = state_.position.sequence;
  const auto current = posterior_.load();
  if (!changed.empty() || (current->version() == 0 && posterior_fresh_.load())) {
    const bool shown = state_.epoch > unshown_epochs_;
    if (!shown || !path_.BeforeShown([this] { return PersistPublication(); }).ok()) {
      unpublished_ = std::move(changed);
      if (shown) return absl::OkStatus();
    } else {
      posterior_.store(learner_->Show(sequence, changed));
      Trace("published");
    }
  }
  nodes_.store(learner_->nodes(), std::memory_order_relaxed);
  grams_repaired_.store(learner_->grams_repaired(), std::memory_order_relaxed);
  best_arm_.store(learner_->best_arm().value_or(-1), std::memory_order_relaxed);
  // Under the mutex, so that no waiter misses it between its check and its sleep.
  std::lock_guard lock(mutex_);
  epoch_.store(state_.epoch, std::memory_order_release);
  applied_.store(sequence, std::memory_order_release);
  return absl::OkStatus();
}

void ApplyLoop::AppendDue(absl::Time now, absl::Time due, const Record& record, ClockEntry& entry) {
  if (due > now || now < entry.not_before || entry.in_flight.exchange(true)) return;
  entry.not_before = now + tick_min_;
  if (hooks_.append(Encode(record), [&entry] { entry.in_flight = false; }).ok()) return;
  entry.in_flight = false;
  entry.not_before = now + std::max(tick_min_, kAppendRetry);
}

void ApplyLoop::TickClock(absl::Time now) {
  AppendDue(now, TimeDue(), TimeRecord{now}, time_entry_);
  const absl::Duration ahead = clock_.ahead();
  if (SameAhead(ahead, state_.ahead)) return;
  AppendDue(now, absl::InfinitePast(), ClockRecord{ahead}, clock_entry_);
}

void ApplyLoop::Tick() {
  const absl::Time now = clock_.Now();
  TickClock(now);
  // PROOF: forgetting begin
  // Whether a user reacted has no part in it: it is the clock's, and comes when nothing happens.
  AppendDue(now, state_.fading.NextEntry(spec_.half_life), FadeRecord{now, spec_.half_life},
            fade_entry_);
  // PROOF: forgetting end
  if (hooks_.clock) hooks_.clock(now);
  const std::uint64_t sequence = state_.position.sequence;
  const absl::Time steady = clock_.Steady();
  if (sequence == checkpoint_sequence_) {
    checkpoint_time_ = steady;  // nothing to write; the interval counts from the next change
    return;
  }
  const bool by_events = sequence - checkpoint_sequence_ >= spec_.checkpoint_events;
  const bool by_time = steady - checkpoint_time_ >= spec_.checkpoint_interval;
  if ((by_events || by_time) && hooks_.checkpoint_wanted()) {
    checkpoint_sequence_ = sequence;
    checkpoint_time_ = steady;
    hooks_.checkpoint(CaptureNow());
  }
}

void ApplyLoop::ServeCaptures() {
  std::vector<CaptureRequest> ready;
  absl::Status failed;
  {
    std::lock_guard lock(mutex_);
    failed = status_;
    if (failed.ok() && !withheld_.ok()) failed = Unavailable(withheld_.message());
    for (CaptureRequest& request : captures_) {
      if (failed.ok() && request.sequence > applied()) continue;
      ready.push_back(std::move(request));
    }
    std::erase_if(captures_, [&](const CaptureRequest& request) {
      return !failed.ok() || request.sequence <= applied();
    });
  }
  for (CaptureRequest& request : ready) {
    if (failed.ok() && request.look) {
      request.look(state_, *learner_);
      request.result.set_value(Captured());
    } else if (failed.ok()) {
      request.result.set_value(CaptureNow());
    } else {
      request.result.set_value(failed);
    }
  }
}

ApplyLoop::Captured ApplyLoop::CaptureNow() const {
  CheckpointSource source{.instance = instance_,
                          .fixed = fixed_,
                          .dimension = learner_->dimension(),
                          .events_only = path_.statistics_dimension() == 0,
                          .state = &state_,
                          .nodes = learner_->nodes(),
                          .counters = hooks_.counters(),
                          .published = published_};
  if (users_.size() > 0) source.users = &users_;
  return std::make_shared<FrozenCheckpoint>(source, learner_->Freeze());
}

}  // namespace bandana::server
