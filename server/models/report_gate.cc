#include "server/models/report_gate.h"

#include <algorithm>
#include <variant>

#include "common/base/check.h"

namespace bandana::server {
namespace {

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

std::int64_t IdBucketOf(absl::Time time) {
  return FloorDivide(absl::ToUnixNanos(time), absl::ToInt64Nanoseconds(kIdBucket));
}

ReportGate::ReportGate(Options options, UserIndex& users, Counters& counters,
                       std::function<void(const LogPosition&)> committed)
    : options_(std::move(options)),
      users_(users),
      counters_(counters),
      committed_(std::move(committed)) {}

void ReportGate::Restore(GateState state) {
  state_ = std::move(state);
  undo_.time = state_.time;
  stored_ = counters_.Get();
  for (const std::uint64_t events : state_.events) {
    events_max_ = std::max(events_max_.load(), events);
  }
  Publish();
}

void ReportGate::Remember(const RememberedId& id) { ids_.Insert(id); }

void ReportGate::ForgetBefore(std::int64_t bucket) {
  ids_.ForgetBefore(bucket);
  forget_before_ = std::max(forget_before_, bucket);
}

Admission ReportGate::Judge(std::string_view bytes, std::optional<RememberedId>& id) {
  const absl::StatusOr<Record> record = Decode(bytes, options_.dimension);
  BANDANA_CHECK(record.ok());
  if (const auto* decision = std::get_if<DecisionRecord>(&*record)) {
    const Admission verdict = JudgeDecision(*decision, id);
    const bool known = verdict == Admission::kAppend || verdict == Admission::kDuplicate;
    refused_.reset();
    if (!known) refused_.emplace(decision->event.id, verdict);
    return verdict;
  }
  if (const auto* outcome = std::get_if<OutcomeRecord>(&*record)) {
    const Admission verdict = JudgeOutcome(*outcome, id);
    CountVerdict(verdict);
    return verdict;
  }
  if (const auto* time = std::get_if<TimeRecord>(&*record)) return JudgeTime(*time);
  if (const auto* epoch = std::get_if<EpochRecord>(&*record)) return JudgeEpoch(*epoch);
  return Admission::kAppend;
}

Admission ReportGate::JudgeDecision(const DecisionRecord& record, std::optional<RememberedId>& id) {
  const RememberedId key{IdBucketOf(record.event.time), kDecisionKind, record.event.id};
  if (key.bucket < forget_before_) return Admission::kExpired;
  if (ids_.Contains(key)) return Admission::kDuplicate;
  if (record.event.epoch != state_.epoch) return Admission::kForeign;
  if (ids_.size() >= options_.ids_max) return Admission::kNoRoom;
  const Admission verdict = CountEvent(record.event);
  if (verdict == Admission::kAppend) Insert(*(id = key));
  return verdict;
}

Admission ReportGate::JudgeOutcome(const OutcomeRecord& record, std::optional<RememberedId>& id) {
  const RememberedId key{IdBucketOf(record.event.time), kOutcomeKind, record.event.id};
  if (key.bucket < forget_before_) return Admission::kExpired;
  if (ids_.Contains(key)) return Admission::kDuplicate;
  if (std::max(record.received, state_.time) >= record.deadline) return Admission::kExpired;
  if (record.event.epoch != state_.epoch) return Admission::kForeign;
  if (options_.windows) {
    if (refused_ && refused_->first == record.event.id) return refused_->second;
    Insert(*(id = key));
    return Admission::kAppend;
  }
  if (ids_.size() >= options_.ids_max) return Admission::kNoRoom;
  const Admission verdict = CountEvent(record.event);
  if (verdict == Admission::kAppend) Insert(*(id = key));
  return verdict;
}

Admission ReportGate::JudgeTime(const TimeRecord& record) {
  if (record.now <= state_.time) return Admission::kDuplicate;
  state_.time = record.now;
  // Bucket b is over for good when its last decision's token has expired.
  const std::int64_t bucket = IdBucketOf(record.now - options_.token_lifetime);
  if (!ids_.empty() && ids_.oldest_bucket() < bucket) {
    forget_before_ = std::max(forget_before_, bucket);
  }
  return Admission::kAppend;
}

Admission ReportGate::JudgeEpoch(const EpochRecord& record) {
  if (record.epoch != state_.epoch + 1) return Admission::kDuplicate;
  undo_.epochs.emplace_back(state_.epoch, std::move(state_.events_at_epoch));
  state_.epoch = record.epoch;
  state_.events_at_epoch = state_.events;
  return Admission::kAppend;
}

int ReportGate::NodeOf(const EventRecord& event) const {
  if (!options_.independent) return event.node;
  if (const int node = users_.Find(event.user); node >= 0) return node;
  const auto it = new_users_.find(std::string(event.user));
  return it == new_users_.end() ? -1 : it->second;
}

Admission ReportGate::CountEvent(const EventRecord& event) {
  int node = NodeOf(event);
  if (node < 0) {
    node = users_.size() + static_cast<int>(new_users_.size());
    if (node >= options_.users_max) return Admission::kUserLimit;
    new_users_.emplace(event.user, node);
    new_user_order_.emplace_back(event.user);
  }
  const auto i = static_cast<std::size_t>(node);
  if (i >= state_.events.size()) state_.events.resize(i + 1);
  const std::uint64_t before = i < state_.events_at_epoch.size() ? state_.events_at_epoch[i] : 0;
  const bool limited =
      options_.events_per_user_max > 0 && !(i < options_.pooled.size() && options_.pooled[i]);
  if (limited && state_.events[i] - before >= options_.events_per_user_max) {
    return Admission::kUserLimit;
  }
  ++state_.events[i];
  undo_.counted.push_back(node);
  return Admission::kAppend;
}

void ReportGate::Insert(const RememberedId& id) {
  ids_.Insert(id);
  undo_.ids.push_back(id);
}

void ReportGate::CountVerdict(Admission verdict) {
  switch (verdict) {
    case Admission::kAppend:
      ++staged_[Counters::kApplied];
      return;
    case Admission::kDuplicate:
      ++staged_[Counters::kDuplicate];
      return;
    case Admission::kExpired:
      ++staged_[Counters::kExpired];
      return;
    case Admission::kForeign:
      ++staged_[Counters::Rejected(v1::TOKEN_FOREIGN)];
      return;
    case Admission::kUserLimit:
      ++staged_[Counters::Rejected(v1::USER_LIMIT)];
      return;
    case Admission::kNoRoom:
      return;  // answered UNAVAILABLE: nothing is decided about it
  }
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
  for (const std::string& user : new_user_order_) users_.Add(user);
  for (const int node : undo_.counted) {
    const std::uint64_t events = state_.events[node];
    if (events > events_max_.load(std::memory_order_relaxed)) events_max_ = events;
  }
  ids_.ForgetBefore(forget_before_);
  counters_.Add(staged_);
  // What other threads added since EncodeCounters() is stored with the next transaction.
  if (stored) stored_ = encoded_;
  staged_ = {};
  new_users_.clear();
  new_user_order_.clear();
  undo_.ids.clear();
  undo_.counted.clear();
  undo_.epochs.clear();
  undo_.time = state_.time;
  Publish();
  committed_(last);
}

void ReportGate::Rollback() {
  for (const RememberedId& id : undo_.ids) ids_.Remove(id);
  for (const int node : undo_.counted) --state_.events[node];
  if (!undo_.epochs.empty()) {
    state_.epoch = undo_.epochs.front().first;
    state_.events_at_epoch = std::move(undo_.epochs.front().second);
  }
  state_.time = undo_.time;
  forget_before_ = ids_.forgotten_before();
  undo_.ids.clear();
  undo_.counted.clear();
  undo_.epochs.clear();
  staged_ = {};
  new_users_.clear();
  new_user_order_.clear();
}

void ReportGate::Publish() {
  published_epoch_.store(state_.epoch, std::memory_order_release);
  published_ids_.store(ids_.size(), std::memory_order_relaxed);
  oldest_bucket_.store(ids_.empty() ? INT64_MAX : ids_.oldest_bucket(), std::memory_order_relaxed);
}

absl::Time ReportGate::forget_due() const {
  const std::int64_t bucket = oldest_bucket_.load(std::memory_order_relaxed);
  if (bucket == INT64_MAX) return absl::InfiniteFuture();
  return absl::FromUnixNanos((bucket + 1) * absl::ToInt64Nanoseconds(kIdBucket)) +
         options_.token_lifetime;
}

}  // namespace bandana::server
