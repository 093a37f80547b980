#include "server/models/admission/report_gate.h"

#include <algorithm>
#include <variant>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/models/admission/verdict.h"

namespace bandana::server {
namespace {

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

class CountsOf final : public EpochCounts {
 public:
  explicit CountsOf(const GateState& state) : state_(state) {}
  std::uint64_t OfNode(int node) const override { return state_.events.InEpoch(node); }
  std::uint64_t OfAll() const override { return state_.events.InEpoch(); }
  std::uint64_t OfLongestStream() const override { return state_.streams.longest(); }

 private:
  const GateState& state_;
};

}  // namespace

std::int64_t IdBucketOf(absl::Time time) {
  return FloorDivide(absl::ToUnixNanos(time), absl::ToInt64Nanoseconds(kIdBucket));
}

ReportGate::ReportGate(Options options, UserIndex& users, Counters& counters,
                       std::function<void(const LogPosition&)> committed)
    : options_(std::move(options)),
      users_(users, options_.users_max),
      counters_(counters),
      committed_(std::move(committed)) {}

void ReportGate::Restore(GateState state) {
  state_ = std::move(state);
  undo_ = {.ids = {},
           .epoch = state_.epoch,
           .time = state_.time,
           .ahead = state_.ahead,
           .deleted = {},
           .fading = state_.fading};
  stored_ = counters_.Get();
  const std::vector<std::uint64_t>& events = state_.events.all();
  for (std::size_t node = 0; node < events.size(); ++node) {
    events_max_ = std::max(events_max_.load(), events[node]);
    UseBudgetOf(static_cast<int>(node));
  }
  UseBudgetOfAll();
  Publish();
}

absl::Status ReportGate::RestoreWindows(const OpenWindows& open, const UpdateLog& log,
                                        const WindowValues& former) {
  if (!options_.windows) return absl::OkStatus();
  std::vector<Cell> cells;
  BANDANA_RETURN_IF_ERROR(log.ForEachCell([&](const Cell& cell) { cells.push_back(cell); }));
  BANDANA_RETURN_IF_ERROR(windows_.Restore(open, cells, *options_.cells, former));
  Publish();
  return absl::OkStatus();
}

void ReportGate::Remember(const RememberedId& id) {
  ids_.Insert(id);
  if (id.kind == kReportKind) reports_.Insert(id.id, id.bucket);
}

void ReportGate::ForgetBefore(std::int64_t bucket) {
  ids_.ForgetBefore(bucket);
  forget_before_ = std::max(forget_before_, bucket);
}

Admission ReportGate::Judge(std::string_view bytes, LogBatch& batch) {
  absl::StatusOr<Record> record = Decode(bytes, options_.dimension);
  BANDANA_CHECK(record.ok());
  // Hidden reports become no entry, and what is drawn must not depend on whether one came.
  const bool enters = !(options_.hides && std::holds_alternative<ReportRecord>(*record));
  if (enters && !salts_.Ready()) return Admission::kUnsealed;
  return std::visit([&](auto& one) { return Take(one, bytes, batch); }, *record);
}

Admission ReportGate::Take(const ReportRecord& record, std::string_view, LogBatch& batch) {
  const Admission verdict = JudgeReport(record, batch);
  if (!options_.hides) CountVerdict(verdict);
  return verdict;
}

Admission ReportGate::Take(const OutcomeRecord& record, std::string_view bytes, LogBatch& batch) {
  const Admission verdict = JudgeOutcome(record, bytes, batch);
  CountVerdict(verdict);
  return verdict;
}

Admission ReportGate::Take(CounterRecord& record, std::string_view, LogBatch& batch) {
  const Admission verdict = JudgeCounter(record, batch);
  if (verdict != Admission::kAppend) CountVerdict(verdict);  // else each step was counted
  return verdict;
}

Admission ReportGate::Take(const ContextRecord& record, std::string_view bytes, LogBatch& batch) {
  const Admission verdict = JudgeContext(record, bytes, batch);
  CountVerdict(verdict);
  return verdict;
}

// The answer to a hidden report is a function of the decision and of the clock; each report writes
// the cell.
Admission ReportGate::JudgeReport(const ReportRecord& record, LogBatch& batch) {
  const WindowTable::Window* window = windows_.Find(record.id);
  if (window == nullptr) {
    if (record.epoch != state_.epoch) return Admission::kForeign;
    const RememberedId key{IdBucketOf(record.decided), kDecisionKind, record.id};
    const bool waits = std::max(record.received, state_.time) < record.activated_by &&
                       key.bucket >= forget_before_ && !ids_.Contains(key);
    return waits ? Admission::kInactive : Admission::kExpired;
  }
  if (std::max(record.received, state_.time) >= windows_.CloseOf(record.id)) {
    return Admission::kExpired;
  }
  if (window->dropped) return Admission::kForeign;
  if (window->value.reported && !options_.hides) return Admission::kDuplicate;
  WindowValue value = window->value;
  if (!value.reported) value = {.reported = true, .reward = record.reward};
  if (const auto slot = window->slot) {
    const absl::StatusOr<CellContent> cell = options_.cells->Encode(record.id, value);
    if (!cell.ok()) return Admission::kUnsealed;
    batch.cells.push_back({.slot = *slot, .live = true, .id = record.id, .content = *cell});
  }
  windows_.Set(record.id, value);
  if (!record.features.empty()) {
    batch.AddOwned(
        Encode(ShownRecord{.id = record.id, .features = record.features, .keys = record.keys}));
  }
  return Admission::kAppend;
}

void ReportGate::CloseWindows(absl::Time now, bool early, LogBatch& batch) {
  const absl::Time through = early ? absl::InfiniteFuture() : now;
  CloseRecord entry{.now = now, .early = early};
  const auto append = [&] {
    batch.AddOwned(Encode(entry));
    entry.windows.clear();
  };
  while (const auto window = windows_.TakeDue(through)) {
    entry.windows.push_back({window->id, window->value.reward});
    if (window->slot) batch.cells.push_back({.slot = *window->slot});
    // A former version counted reports when they came.
    const bool counted = !window->slot && window->value.reported;
    if (options_.hides && !counted) ++staged_[Counters::kApplied];
    if (entry.windows.size() == kClosedWindowsMax) append();
  }
  if (!entry.windows.empty()) append();
}

Admission ReportGate::Take(const CloseRecord&, std::string_view, LogBatch& batch) {
  if (windows_.empty()) return Admission::kDuplicate;
  CloseWindows(state_.time, /*early=*/true, batch);
  return Admission::kAppend;
}

Admission ReportGate::JudgeOutcome(const OutcomeRecord& record, std::string_view bytes,
                                   LogBatch& batch) {
  const RememberedId key{IdBucketOf(record.event.time), kOutcomeKind, record.event.id};
  if (key.bucket < forget_before_) return Admission::kExpired;
  if (ids_.Contains(key)) return Admission::kDuplicate;
  if (std::max(record.received, state_.time) >= record.deadline) return Admission::kExpired;
  if (record.event.epoch != state_.epoch) return Admission::kForeign;
  if (ids_.size() >= options_.ids_max) return Refuse(RefusalReason::kIds, Admission::kNoRoom);
  const Admission verdict = CountEvent(record.event, batch);
  if (verdict != Admission::kAppend) return verdict;
  batch.Add(bytes, Insert(key));
  return Admission::kAppend;
}

Admission ReportGate::JudgeContext(const ContextRecord& record, std::string_view bytes,
                                   LogBatch& batch) {
  const auto known = reports_.BucketOf(record.id);
  if (known && *known >= forget_before_) return Admission::kDuplicate;
  if (record.epoch != state_.epoch) return Admission::kForeign;
  const RememberedId key{IdBucketOf(std::max(record.received, state_.time)), kReportKind,
                         record.id};
  // The oldest ids make room, but none of the present bucket. A report that comes again after its
  // id was forgotten is an event a second time. It has the same bytes: it says nothing new of its
  // user.
  if (ids_.size() >= options_.ids_max) {
    if (ids_.oldest_bucket() >= key.bucket) return Refuse(RefusalReason::kIds, Admission::kNoRoom);
    forget_before_ = std::max(forget_before_, ids_.oldest_bucket() + 1);
  }
  state_.events.Add(0, 1);
  batch.Add(bytes, Insert(key));
  return Admission::kAppend;
}

Admission ReportGate::Take(const TimeRecord& record, std::string_view bytes, LogBatch& batch) {
  const absl::Time now = std::max(record.now, state_.time);
  const bool closes = windows_.next_close() <= now;
  if (now == state_.time && !closes) return Admission::kDuplicate;
  state_.time = now;
  if (!state_.deleted.empty()) ChangeDeleted().DropDue(now);
  // Bucket b is over for good when no decision of it can be reported, or opened again.
  const std::int64_t bucket = IdBucketOf(now - options_.remember);
  if (!ids_.empty() && ids_.oldest_bucket() < bucket) {
    forget_before_ = std::max(forget_before_, bucket);
  }
  if (closes) {
    CloseWindows(now, /*early=*/false, batch);  // also tells the time
  } else {
    batch.Add(bytes);
  }
  return Admission::kAppend;
}

Admission ReportGate::Take(const EpochRecord& record, std::string_view bytes, LogBatch& batch) {
  if (record.epoch != state_.epoch + 1) return Admission::kDuplicate;
  CloseWindows(state_.time, /*early=*/true, batch);
  for (const DebitRecord& debit : owed_) batch.AddOwned(Encode(debit));
  paying_ = true;
  state_.epoch = record.epoch;
  if (!state_.deleted.empty()) ChangeDeleted().Clear();
  state_.events.OpenEpoch();
  state_.streams.Clear();
  batch.Add(bytes);
  return Admission::kAppend;
}

// A step that was already made was asked for twice.
Admission ReportGate::Take(const FadeRecord& record, std::string_view bytes, LogBatch& batch) {
  if (state_.fading.NextEntry(record.half_life) > record.now) return Admission::kDuplicate;
  state_.fading.Apply(record.now, record.half_life);
  batch.Add(bytes);
  return Admission::kAppend;
}

// A correction that is in force was asked for twice.
Admission ReportGate::Take(const ClockRecord& record, std::string_view bytes, LogBatch& batch) {
  if (record.ahead == state_.ahead) return Admission::kDuplicate;
  state_.ahead = record.ahead;
  batch.Add(bytes);
  return Admission::kAppend;
}

Admission ReportGate::JudgeCounter(CounterRecord& record, LogBatch& batch) {
  BANDANA_CHECK(!record.steps.empty() && record.step >= record.steps.size());
  if (record.epoch == 0) record.epoch = state_.epoch;  // no token opened
  if (record.epoch != state_.epoch) return Admission::kForeign;
  if (const Admission deleted = CheckDeleted(record); deleted != Admission::kAppend) return deleted;
  if (const Admission place = PlaceOf(record, state_.streams, options_.counter);
      place != Admission::kAppend)
    return place;
  if (record.step > options_.debits->steps_max())
    return Refuse(RefusalReason::kBudget, Admission::kExhausted);
  if (ids_.size() + record.steps.size() > options_.ids_max)
    return Refuse(RefusalReason::kIds, Admission::kNoRoom);

  const StreamPlace* known = state_.streams.Find(record.stream);
  const std::uint64_t newest = known == nullptr ? 0 : known->step;
  const bool named = record.node >= 0 || !record.user.empty();
  if (!named && known == nullptr) return Admission::kInvalid;
  if (known != nullptr && named && users_.NodeOf(record.node, record.user) != known->node) {
    return Admission::kInvalid;
  }
  if (known == nullptr && state_.streams.size() >= kCounterStreamsMax)
    return Refuse(RefusalReason::kBudget, Admission::kExhausted);
  const int node = known != nullptr ? known->node : users_.NodeOrNext(record.node, record.user);
  if (node < 0) return Refuse(RefusalReason::kUsers, Admission::kUserLimit);
  const Admission limit = CheckLimits(node, record.step - newest);
  if (limit != Admission::kAppend) return limit;
  if (known == nullptr) {
    if (state_.streams.CountOf(node) >= kCounterStreamsPerNodeMax)
      return Refuse(RefusalReason::kBudget, Admission::kExhausted);
    users_.Admit(node, record.user);
    AddDebit(*options_.debits, state_.epoch, node, batch);
  }
  if (!named) record.node = node;

  RememberedIds ids = SiftSteps(newest, record);
  state_.events.Add(node, record.steps.size());
  staged_[Counters::kApplied] += record.steps.size();
  state_.streams.Set(record.stream,
                     {node, record.step, record.last, Sha256Of(record.moment.bytes())});
  batch.AddOwned(Encode(record), std::move(ids));
  return Admission::kAppend;
}

RememberedIds ReportGate::SiftSteps(std::uint64_t newest, CounterRecord& record) {
  const std::uint64_t first = record.step - record.steps.size() + 1;
  RememberedIds ids;
  std::vector<CounterStep> counting;
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    const CounterStep& step = record.steps[i];
    if (first + i <= newest) continue;  // came before
    if (!step.readable) {
      ++staged_[Counters::Rejected(v1::TOKEN_INVALID)];
      continue;
    }
    const RememberedId key{IdBucketOf(step.time), kOutcomeKind, step.id};
    const absl::Time deadline = step.time + options_.token_lifetime;
    if (key.bucket < forget_before_ || std::max(record.received, state_.time) >= deadline) {
      ++staged_[Counters::kExpired];
    } else if (ids_.Contains(key)) {
      ++staged_[Counters::kDuplicate];
    } else {
      for (const RememberedId& id : Insert(key)) ids.push_back(id);
      counting.push_back(step);
      counting.back().covered = first + i <= CoveredAt(options_.counter, record.step);
    }
  }
  record.steps = std::move(counting);
  return ids;
}

std::uint64_t ReportGate::AcknowledgedStep(const StreamId& stream) const {
  const StreamPlace* place = state_.streams.Find(stream);
  return place == nullptr ? 0 : place->step;
}

Admission ReportGate::CheckLimits(int node, std::uint64_t events) {
  const bool limited = options_.events_per_user_max > 0 && !IsPooled(node);
  if (limited && state_.events.InEpoch(node) + events > options_.events_per_user_max) {
    return Refuse(RefusalReason::kBudget, Admission::kUserLimit);
  }
  if (options_.debits->Exhausts(CountsOf(state_), node, events))
    return Refuse(RefusalReason::kBudget, Admission::kExhausted);
  return Admission::kAppend;
}

bool ReportGate::IsPooled(int node) const {
  const auto i = static_cast<std::size_t>(node);
  return i < options_.pooled.size() && options_.pooled[i];
}

std::optional<BudgetUse> ReportGate::budget() const {
  const std::uint64_t used = budget_used_.load(std::memory_order_relaxed);
  if (options_.events_per_user_max > 0) {
    const auto& pooled = options_.pooled;
    const bool all =
        !pooled.empty() && std::find(pooled.begin(), pooled.end(), false) == pooled.end();
    if (all) return std::nullopt;
    return BudgetUse{BudgetUse::Of::kUser, used, options_.events_per_user_max};
  }
  if (options_.debits->steps_max() == 0) return std::nullopt;
  return BudgetUse{BudgetUse::Of::kStream, used, options_.debits->steps_max()};
}

void ReportGate::UseBudgetOf(int node) {
  if (options_.events_per_user_max == 0) {
    UseBudget(options_.debits->UsedBy(CountsOf(state_), node));
  } else if (!IsPooled(node)) {
    UseBudget(state_.events.InEpoch(node));
  }
}

void ReportGate::UseBudgetOfAll() {
  if (options_.events_per_user_max == 0) UseBudget(options_.debits->UsedByAll(CountsOf(state_)));
}

void ReportGate::UseBudget(std::uint64_t used) {
  if (used > budget_used_.load(std::memory_order_relaxed)) budget_used_ = used;
}

DeletedUsers& ReportGate::ChangeDeleted() {
  if (!undo_.deleted) undo_.deleted = state_.deleted;
  return state_.deleted;
}

Admission ReportGate::Take(const DeleteRequest& request, std::string_view, LogBatch& batch) {
  DeleteRecord entry{.now = std::max(request.now, state_.time), .until = request.until};
  entry.key = state_.deleted.key();
  if (state_.deleted.empty() && !options_.bits->Fill(entry.key).ok()) return Admission::kUnsealed;
  absl::flat_hash_set<UserHash> seen;
  absl::flat_hash_set<std::uint64_t> owners;
  for (const std::string_view id : request.ids) {
    DeletedUser user{.node = users_.NodeOf(-1, id),
                     .hash = DeletedUsers::HashOf(entry.key, UserKey(id))};
    if (user.hash == UserHash{}) return Admission::kUnsealed;
    if (!seen.insert(user.hash).second) continue;
    // A user whose deletion is in the log, and not yet in the index.
    if (state_.deleted.HasNode(user.node)) user.node = -1;
    owners.insert(user.node >= 0 ? OwnerOf(user.node, "") : UserKey(id));
    entry.users.push_back(user);
  }
  // The reports stand in cells, and would be in the entry that closes the windows.
  std::vector<Cell> cells;
  for (const WindowTable::Window* const window : windows_.Of(owners)) {
    if (!window->slot) continue;
    const absl::StatusOr<CellContent> empty = options_.cells->Encode(window->id, {});
    if (!empty.ok()) return Admission::kUnsealed;
    cells.push_back({.slot = *window->slot, .live = true, .id = window->id, .content = *empty});
  }
  DeletedUsers& deleted = ChangeDeleted();
  for (const DeletedUser& user : entry.users) {
    const std::uint64_t events = user.node >= 0 ? state_.events.InEpoch(user.node) : 0;
    const absl::Status added = deleted.Add(entry, user, events);
    BANDANA_CHECK(added.ok());
  }
  windows_.Drop(owners);
  batch.cells.insert(batch.cells.end(), cells.begin(), cells.end());
  batch.AddOwned(Encode(entry));
  return Admission::kAppend;
}

Admission ReportGate::CheckDeleted(std::string_view user, const PackedKeys& keys,
                                   absl::Time decided) const {
  if (state_.deleted.empty()) return Admission::kAppend;
  const std::optional<EffectKey> whose = UserOf(user, keys);
  const DeletedUsers::Entry* const entry = whose ? state_.deleted.Find(*whose) : nullptr;
  if (entry == nullptr) return Admission::kAppend;
  if (decided <= entry->deleted) return Admission::kForeign;
  if (entry->until == absl::InfiniteFuture()) return Admission::kUserLimit;
  // Until the deletion is applied the id leads to the node that is to be forgotten.
  const bool applied = !state_.deleted.HasNode(users_.NodeOf(-1, user));
  return applied ? Admission::kAppend : Admission::kForeign;
}

Admission ReportGate::CheckDeleted(const CounterRecord& record) const {
  if (state_.deleted.empty()) return Admission::kAppend;
  const StreamPlace* const stream = state_.streams.Find(record.stream);
  if (stream != nullptr && state_.deleted.HasNode(stream->node)) return Admission::kForeign;
  absl::Time first = absl::InfiniteFuture();
  for (const CounterStep& step : record.steps) {
    if (step.readable) first = std::min(first, step.time);
  }
  return CheckDeleted(record.user, {}, first);
}

Admission ReportGate::CheckEvents(const EventRecord& event, std::uint64_t count) {
  const Admission deleted = CheckDeleted(event.user, event.keys, event.time);
  if (deleted != Admission::kAppend) return deleted;
  const int node = users_.NodeOrNext(event.node, event.user);
  if (node < 0) return Refuse(RefusalReason::kUsers, Admission::kUserLimit);
  return CheckLimits(node, count);
}

Admission ReportGate::CountEvent(const EventRecord& event, LogBatch& batch) {
  const Admission verdict = CheckEvents(event, 1);
  if (verdict != Admission::kAppend) return verdict;
  const int node = users_.NodeOrNext(event.node, event.user);
  users_.Admit(node, event.user);
  if (const auto due = options_.debits->BeforeEvent(CountsOf(state_), node)) {
    state_.payments.Pay(*options_.debits, state_.epoch, *due, batch);
  }
  state_.events.Add(node, 1);
  return Admission::kAppend;
}

RememberedIds ReportGate::Insert(const RememberedId& id) {
  Remember(id);
  undo_.ids.push_back(id);
  // A dense one is in its chunk.
  return DenseId::Of(id) ? RememberedIds{} : RememberedIds{id};
}

void ReportGate::CountVerdict(Admission verdict) {
  const std::optional<ReportResult> result = ResultOf(verdict);
  if (result) ++staged_[CounterOf(result->code, result->reason)];
}

WindowValues ReportGate::ReportedValues(std::optional<std::uint64_t> owner) const {
  WindowValues values;
  for (const auto& [key, window] : windows_.all()) {
    if (owner && window.owner != *owner) continue;
    if (window.value.reported) values[window.id] = window.value;
  }
  return values;
}

std::optional<std::int64_t> ReportGate::ForgetBefore() {
  if (forget_before_ <= ids_.forgotten_before()) return std::nullopt;
  return forget_before_;
}

std::string ReportGate::EncodeCounters() {
  encoded_ = counters_.Get();
  for (std::size_t i = 0; i < staged_.size(); ++i) encoded_[i] += staged_[i];
  return Counters::Encode(encoded_);
}

bool ReportGate::CountersChanged() const {
  return counters_.Get() != stored_ || staged_ != Counters::Values{};
}

void ReportGate::Commit(const LogPosition& last, bool stored) {
  salts_.Committed();
  windows_.Commit();
  users_.Commit();
  state_.streams.Commit();
  state_.payments.Commit();
  if (std::exchange(paying_, false)) owed_.clear();
  const std::vector<std::uint64_t>& events = state_.events.all();
  if (state_.events.opened()) {
    budget_used_ = 0;
    refusals_.Clear(RefusalReason::kBudget);
  }
  for (const auto& [node, count] : state_.events.added()) {
    if (events[node] > events_max_.load(std::memory_order_relaxed)) events_max_ = events[node];
    UseBudgetOf(node);
  }
  if (!state_.events.added().empty()) UseBudgetOfAll();
  state_.events.Commit();
  if (options_.waiting != nullptr) {
    for (const RememberedId& id : undo_.ids) options_.waiting->Reported(id);
  }
  if (stored) ids_.Stored();
  ids_.ForgetBefore(forget_before_);
  reports_.ForgetBefore(forget_before_, ids_.size());
  counters_.Add(staged_);
  // Counts that other threads added since EncodeCounters() are stored with the next transaction.
  if (stored) stored_ = encoded_;
  staged_ = {};
  undo_ = {.ids = {},
           .epoch = state_.epoch,
           .time = state_.time,
           .ahead = state_.ahead,
           .deleted = {},
           .fading = state_.fading};
  Publish();
  committed_(last);
}

void ReportGate::Rollback() {
  windows_.Rollback();
  users_.Rollback();
  for (const RememberedId& id : undo_.ids) {
    ids_.Remove(id);
    if (id.kind == kReportKind) reports_.Remove(id.id);
  }
  state_.events.Rollback();
  state_.streams.Rollback();
  state_.payments.Rollback();
  paying_ = false;
  state_.epoch = undo_.epoch;
  state_.time = undo_.time;
  state_.ahead = undo_.ahead;
  if (undo_.deleted) state_.deleted = *std::move(undo_.deleted);
  undo_.deleted.reset();
  state_.fading = undo_.fading;
  forget_before_ = ids_.forgotten_before();
  undo_.ids.clear();
  staged_ = {};
}

void ReportGate::Publish() {
  if (ids_.size() < options_.ids_max) refusals_.Clear(RefusalReason::kIds);
  published_epoch_.store(state_.epoch, std::memory_order_release);
  published_ids_.store(ids_.size(), std::memory_order_relaxed);
  windows_open_.store(windows_.all().size(), std::memory_order_relaxed);
  oldest_bucket_.store(ids_.empty() ? INT64_MAX : ids_.oldest_bucket(), std::memory_order_relaxed);
}

absl::Time ReportGate::newest_id() const {
  if (ids_.empty()) return absl::InfinitePast();
  return absl::UnixEpoch() + (ids_.newest_bucket() + 1) * kIdBucket;
}

absl::Time ReportGate::forget_due() const {
  const std::int64_t bucket = oldest_bucket_.load(std::memory_order_relaxed);
  if (bucket == INT64_MAX) return absl::InfiniteFuture();
  return absl::FromUnixNanos((bucket + 1) * absl::ToInt64Nanoseconds(kIdBucket)) +
         options_.remember;
}

}  // namespace bandana::server
