// Decisions whose windows the server closes: how they enter the log.
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "server/models/admission/report_gate.h"

namespace bandana::server {

Admission ReportGate::JudgeOpenings(std::vector<Opening> openings, LogBatch& batch) {
  const auto refused = [&](Admission verdict) {
    // Their reports find no decision, and are not counted for it.
    for (std::size_t i = 0; i < openings.size(); ++i) CountVerdict(verdict);
    return verdict;
  };
  std::size_t fresh = 0;
  for (Opening& opening : openings) {
    const Admission verdict = CheckOpening(opening.record);
    if (verdict == Admission::kDuplicate) continue;
    if (verdict != Admission::kAppend) return refused(verdict);
    const absl::StatusOr<CellContent> cell =
        options_.cells->Encode(opening.record.event.id, {.reward = opening.record.default_reward});
    if (!cell.ok()) return refused(Admission::kUnsealed);
    opening.cell = *cell;
    std::swap(openings[fresh++], opening);
  }
  openings.resize(fresh);
  if (openings.empty()) return Admission::kDuplicate;
  if (ids_.size() + openings.size() > options_.ids_max) {
    return refused(Refuse(RefusalReason::kIds, Admission::kNoRoom));
  }
  const Admission verdict = CheckEvents(openings.front().record.event, openings.size());
  if (verdict != Admission::kAppend) return refused(verdict);
  for (const Opening& opening : openings) Open(opening, batch);
  return Admission::kAppend;
}

Admission ReportGate::CheckOpening(const DecisionRecord& record) const {
  const RememberedId key{IdBucketOf(record.event.time), kDecisionKind, record.event.id};
  if (key.bucket < forget_before_) return Admission::kExpired;
  if (ids_.Contains(key) || windows_.Find(record.event.id) != nullptr) return Admission::kDuplicate;
  return record.event.epoch == state_.facts.epoch ? Admission::kAppend : Admission::kForeign;
}

void ReportGate::Open(const Opening& opening, LogBatch& batch) {
  const DecisionRecord& record = opening.record;
  const DecisionId& id = record.event.id;
  const Admission counted = CountEvent(record.event, batch);
  BANDANA_CHECK(counted == Admission::kAppend);  // CheckEvents has said so
  batch.Add(opening.bytes, Insert({IdBucketOf(record.event.time), kDecisionKind, id}));
  const int node = users_.NodeOf(record.event.node, record.event.user);
  const std::uint64_t owner = OwnerOf(node, record.event.keys.bytes());
  const std::uint64_t slot =
      windows_.Open(record.close, id, {.reward = record.default_reward}, owner);
  batch.cells.push_back({.slot = slot, .live = true, .id = id, .content = opening.cell});
}

}  // namespace bandana::server
