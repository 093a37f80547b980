#include "server/models/admission/report_gate.h"

#include <algorithm>
#include <variant>

#include "common/base/check.h"
#include "common/base/status.h"
#include "server/models/admission/verdict.h"

namespace bandana::server {
namespace {

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

// Records that no rule speaks of enter as they are.
struct ReportGate::Taker {
  ReportGate& gate;
  std::string_view bytes;
  LogBatch& batch;

  template <typename Other>
  Admission operator()(const Other&) const {
    batch.Add(bytes);
    return Admission::kAppend;
  }
  Admission operator()(const DecisionRecord& r) const {
    return gate.JudgeOpenings({{.record = r, .bytes = bytes}}, batch);
  }
  Admission operator()(const OpeningRequest& r) const {
    std::vector<Opening> openings;
    for (const std::string_view decision : r.decisions) {
      absl::StatusOr<Record> record = Decode(decision, gate.options_.dimension);
      BANDANA_CHECK(record.ok());
      openings.push_back(
          {.record = std::get<DecisionRecord>(*std::move(record)), .bytes = decision});
    }
    return gate.JudgeOpenings(std::move(openings), batch);
  }
  Admission operator()(const OutcomeRecord& r) const {
    return Counted(gate.JudgeOutcome(r, bytes, batch));
  }
  Admission operator()(const ContextRecord& r) const {
    return Counted(gate.JudgeContext(r, bytes, batch));
  }
  Admission operator()(const ReportRecord& r) const {
    const Admission verdict = gate.JudgeReport(r, batch);
    return gate.options_.hides ? verdict : Counted(verdict);
  }
  Admission operator()(CounterRecord& r) const {
    const Admission verdict = gate.JudgeCounter(r, batch);
    return verdict == Admission::kAppend ? verdict
                                         : Counted(verdict);  // else each step was counted
  }
  Admission operator()(const TimeRecord& r) const { return gate.JudgeTime(r, bytes, batch); }
  Admission operator()(const EpochRecord& r) const { return gate.JudgeEpoch(r, bytes, batch); }
  Admission operator()(const DeleteRequest& r) const { return gate.JudgeDeletion(r, batch); }
  Admission operator()(const CloseRecord&) const {
    if (gate.windows_.empty()) return Admission::kDuplicate;
    gate.CloseWindows(gate.state_.facts.time, /*early=*/true, batch);
    return Admission::kAppend;
  }
  // A step that was already made was asked for twice.
  Admission operator()(const FadeRecord& r) const {
    if (gate.state_.facts.fading.NextEntry(r.half_life) > r.now) return Admission::kDuplicate;
    return Enter(r);
  }
  // Nothing is kept of a user who was deleted since.
  Admission operator()(const SeenRecord& r) const {
    const DeletedUsers::Entry* const gone = gate.state_.facts.deleted.Find(r.user);
    if (gone != nullptr && r.time <= gone->deleted) return Admission::kForeign;
    batch.Add(bytes);
    return Admission::kAppend;
  }
  // A correction that is in force was asked for twice.
  Admission operator()(const ClockRecord& r) const {
    return r.ahead == gate.state_.facts.ahead ? Admission::kDuplicate : Enter(r);
  }

 private:
  template <typename Fact>
  Admission Enter(const Fact& r) const {
    gate.ChangeFacts().Take(r);
    batch.Add(bytes);
    return Admission::kAppend;
  }
  Admission Counted(Admission verdict) const {
    gate.CountVerdict(verdict);
    return verdict;
  }
};

ReportGate::ReportGate(Options options, UserIndex& users, Counters& counters,
                       std::function<void(const LogPosition&)> committed)
    : GateFigures(std::move(options)),
      users_(users, options_.users_max),
      counters_(counters),
      committed_(std::move(committed)) {}

void ReportGate::Restore(GateState state) {
  state_ = std::move(state);
  undo_ = {};
  stored_ = counters_.Get();
  const std::vector<std::uint64_t>& events = state_.events.all();
  const CountsOf counts(state_);
  for (std::size_t node = 0; node < events.size(); ++node) {
    ShowEventsOf(static_cast<int>(node), events[node], counts);
  }
  ShowEventsOfAll(counts);
  Show(state_.facts.epoch, ids_, windows_.all().size());
}

absl::Status ReportGate::RestoreWindows(const OpenWindows& open, const UpdateLog& log,
                                        const WindowValues& former) {
  if (!options_.windows) return absl::OkStatus();
  std::vector<Cell> cells;
  BANDANA_RETURN_IF_ERROR(log.ForEachCell([&](const Cell& cell) { cells.push_back(cell); }));
  BANDANA_RETURN_IF_ERROR(windows_.Restore(open, cells, *options_.cells, former));
  Show(state_.facts.epoch, ids_, windows_.all().size());
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
  return std::visit(Taker{*this, bytes, batch}, *record);
}

// The answer to a hidden report is a function of the decision and of the clock; each report writes
// the cell.
Admission ReportGate::JudgeReport(const ReportRecord& record, LogBatch& batch) {
  const WindowTable::Window* window = windows_.Find(record.id);
  if (window == nullptr) {
    if (record.epoch != state_.facts.epoch) return Admission::kForeign;
    const RememberedId key{IdBucketOf(record.decided), kDecisionKind, record.id};
    const bool waits = std::max(record.received, state_.facts.time) < record.activated_by &&
                       key.bucket >= forget_before_ && !ids_.Contains(key);
    return waits ? Admission::kInactive : Admission::kExpired;
  }
  if (std::max(record.received, state_.facts.time) >= windows_.CloseOf(record.id)) {
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
    ChangeFacts().Pass(now);
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

Admission ReportGate::JudgeOutcome(const OutcomeRecord& record, std::string_view bytes,
                                   LogBatch& batch) {
  const RememberedId key{IdBucketOf(record.event.time), kOutcomeKind, record.event.id};
  if (key.bucket < forget_before_) return Admission::kExpired;
  if (ids_.Contains(key)) return Admission::kDuplicate;
  if (std::max(record.received, state_.facts.time) >= record.deadline) return Admission::kExpired;
  if (record.event.epoch != state_.facts.epoch) return Admission::kForeign;
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
  if (record.epoch != state_.facts.epoch) return Admission::kForeign;
  const RememberedId key{IdBucketOf(std::max(record.received, state_.facts.time)), kReportKind,
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

Admission ReportGate::JudgeTime(const TimeRecord& record, std::string_view bytes, LogBatch& batch) {
  const absl::Time now = std::max(record.now, state_.facts.time);
  const bool closes = windows_.next_close() <= now;
  if (now == state_.facts.time && !closes) return Admission::kDuplicate;
  // Bucket b is over for good when no decision of it can be reported, or opened again.
  const std::int64_t bucket = IdBucketOf(now - options_.remember);
  if (!ids_.empty() && ids_.oldest_bucket() < bucket) {
    forget_before_ = std::max(forget_before_, bucket);
  }
  if (closes) {
    CloseWindows(now, /*early=*/false, batch);  // also tells the time
  } else {
    ChangeFacts().Pass(now);
    batch.Add(bytes);
  }
  return Admission::kAppend;
}

Admission ReportGate::JudgeEpoch(const EpochRecord& record, std::string_view bytes,
                                 LogBatch& batch) {
  if (record.epoch != state_.facts.epoch + 1) return Admission::kDuplicate;
  CloseWindows(state_.facts.time, /*early=*/true, batch);
  for (const DebitRecord& debit : owed_) batch.AddOwned(Encode(debit));
  paying_ = true;
  ChangeFacts().Take(record);
  state_.events.OpenEpoch();
  state_.streams.Clear();
  batch.Add(bytes);
  return Admission::kAppend;
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

LogFacts& ReportGate::ChangeFacts() {
  if (!undo_.facts) undo_.facts = state_.facts;
  return state_.facts;
}

Admission ReportGate::JudgeDeletion(const DeleteRequest& request, LogBatch& batch) {
  DeleteRecord entry{.now = std::max(request.now, state_.facts.time), .until = request.until};
  entry.key = state_.facts.deleted.key();
  if (state_.facts.deleted.empty() && !options_.bits->Fill(entry.key).ok())
    return Admission::kUnsealed;
  absl::flat_hash_set<UserHash> seen;
  absl::flat_hash_set<std::uint64_t> owners;
  for (const std::string_view id : request.ids) {
    DeletedUser user{.node = users_.NodeOf(-1, id),
                     .hash = DeletedUsers::HashOf(entry.key, UserKey(id))};
    if (user.hash == UserHash{}) return Admission::kUnsealed;
    if (!seen.insert(user.hash).second) continue;
    // A user whose deletion is in the log, and not yet in the index.
    if (state_.facts.deleted.HasNode(user.node)) user.node = -1;
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
  const absl::Status deleted = ChangeFacts().Take(entry, state_.events);
  BANDANA_CHECK(deleted.ok());
  absl::flat_hash_set<int> nodes;
  for (const DeletedUser& user : entry.users) nodes.insert(user.node);
  state_.streams.Forget(nodes);
  windows_.Drop(owners);
  batch.cells.insert(batch.cells.end(), cells.begin(), cells.end());
  batch.AddOwned(Encode(entry));
  return Admission::kAppend;
}

Admission ReportGate::CheckDeleted(std::string_view user, const PackedKeys& keys,
                                   absl::Time decided) const {
  if (state_.facts.deleted.empty()) return Admission::kAppend;
  const std::optional<EffectKey> whose = UserOf(user, keys);
  const DeletedUsers::Entry* const entry = whose ? state_.facts.deleted.Find(*whose) : nullptr;
  if (entry == nullptr) return Admission::kAppend;
  if (decided <= entry->deleted) return Admission::kForeign;
  if (entry->until == absl::InfiniteFuture()) return Admission::kUserLimit;
  // Until the deletion is applied the id leads to the node that is to be forgotten.
  const bool applied = !state_.facts.deleted.HasNode(users_.NodeOf(-1, user));
  return applied ? Admission::kAppend : Admission::kForeign;
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
    state_.payments.Pay(*options_.debits, state_.facts.epoch, *due, batch);
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
  if (state_.events.opened()) ShowNewEpoch();
  const CountsOf counts(state_);
  for (const auto& [node, count] : state_.events.added()) {
    ShowEventsOf(node, state_.events.all()[node], counts);
  }
  if (!state_.events.added().empty()) ShowEventsOfAll(counts);
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
  undo_ = {};
  Show(state_.facts.epoch, ids_, windows_.all().size());
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
  if (undo_.facts) state_.facts = *std::move(undo_.facts);
  undo_ = {};
  forget_before_ = ids_.forgotten_before();
  staged_ = {};
}

absl::Time ReportGate::newest_id() const {
  if (ids_.empty()) return absl::InfinitePast();
  return absl::UnixEpoch() + (ids_.newest_bucket() + 1) * kIdBucket;
}

}  // namespace bandana::server
