// Counter streams of devices: how their reports enter the log.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "server/models/admission/report_gate.h"

namespace bandana::server {
namespace {

// The newest step that a device's release at `step` covers. `counter`: of its stream; nullptr: each
// step releases.
std::uint64_t CoveredAt(const CounterDesign* counter, std::uint64_t step) {
  return counter == nullptr ? step : counter->Covered(step);
}

// Where the report stands in its stream: kAppend when it brings it forward.
Admission PlaceOf(const CounterRecord& record, const StreamTable& streams,
                  const CounterDesign* counter) {
  const StreamPlace* known = streams.Find(record.stream);
  const std::uint64_t newest = known == nullptr ? 0 : known->step;
  const std::uint64_t first = record.step - record.steps.size() + 1;
  if (first > newest + 1) return Admission::kGap;
  if (record.step < newest) return Admission::kDuplicate;
  if (first <= newest) {
    const CounterStep& again = record.steps[newest - first];
    if (again.readable && known->last != DecisionId{} && again.id != known->last) {
      return Admission::kForked;
    }
  }
  const bool appends = record.step > newest;
  if (newest == 0) return Admission::kAppend;
  if (appends && CoveredAt(counter, record.step) > CoveredAt(counter, newest)) {
    return Admission::kAppend;
  }
  if (Sha256Of(record.moment.bytes()) != known->moment) return Admission::kForked;
  return appends ? Admission::kAppend : Admission::kDuplicate;
}

}  // namespace

Admission ReportGate::JudgeCounter(CounterRecord& record, LogBatch& batch) {
  BANDANA_CHECK(!record.steps.empty() && record.step >= record.steps.size());
  if (record.epoch == 0) record.epoch = state_.facts.epoch;  // no token opened
  if (record.epoch != state_.facts.epoch) return Admission::kForeign;
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
    AddDebit(*options_.debits, state_.facts.epoch, node, batch);
  }
  if (!named) record.node = node;

  RememberedIds ids = SiftSteps(newest, record);
  state_.events.Add(node, record.steps.size());
  staged_[Counters::kApplied] += record.steps.size();
  state_.streams.Accept(record, node);
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
    if (key.bucket < forget_before_ || std::max(record.received, state_.facts.time) >= deadline) {
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

Admission ReportGate::CheckDeleted(const CounterRecord& record) const {
  if (state_.facts.deleted.empty()) return Admission::kAppend;
  const StreamPlace* const stream = state_.streams.Find(record.stream);
  if (stream != nullptr && state_.facts.deleted.HasNode(stream->node)) return Admission::kForeign;
  absl::Time first = absl::InfiniteFuture();
  for (const CounterStep& step : record.steps) {
    if (step.readable) first = std::min(first, step.time);
  }
  return CheckDeleted(record.user, {}, first);
}

}  // namespace bandana::server
