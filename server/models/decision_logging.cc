#include "server/models/decision_logging.h"

#include <algorithm>
#include <utility>

#include "common/base/removal.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/judgeable.h"
#include "common/model/entries/records.h"
#include "common/model/paths/entry_events.h"
#include "common/promise/mechanism.h"
#include "common/promise/reward_reports.h"
#include "server/decisions/decision_files.h"

namespace bandana::server {
namespace {

constexpr int kEntriesAtOnce = 4096;

// Perhaps not all rows of the last entry were written: it is read again while it is there.
absl::Status CatchUp(const DecisionLogPlace& place, DecisionLog& decisions) {
  const std::uint64_t trimmed = place.log.trimmed();
  // After a store that was put back, rewards of its lost future are of nothing that was learnt.
  std::uint64_t from = std::min(decisions.last_sequence(), place.applied + 1);
  if (from > trimmed) {
    BANDANA_RETURN_IF_ERROR(decisions.TakeBackFrom(from));
    --from;
  }
  if (decisions.figures().lines == 0) return absl::OkStatus();  // none could get a reward
  std::vector<LogEntry> entries;
  std::vector<RewardRow> rows;
  for (std::uint64_t at = std::max(from, trimmed); at < place.applied;) {
    entries.clear();
    rows.clear();
    const int count = static_cast<int>(std::min<std::uint64_t>(kEntriesAtOnce, place.applied - at));
    BANDANA_RETURN_IF_ERROR(place.log.ReadLeft(at, count, entries));
    if (entries.empty()) return DataLoss("log entry ", at + 1, " is missing");
    for (const LogEntry& entry : entries) {
      AppendRows(entry, place.spec.public_spec.dimension, rows);
    }
    decisions.AddRewards(rows);
    at = entries.back().position.sequence;
  }
  decisions.Flush();
  return absl::OkStatus();
}

}  // namespace

SegmentHeader FactsOf(const ModelSpec& spec, const InstanceId& instance) {
  const PublicSpec& p = spec.public_spec;
  SegmentHeader facts{
      .instance = instance,
      .range = p.reward_range,
      .form = FamilyOf(spec).centres_shares(spec) ? RewardForm::kCentredShare : RewardForm::kAsIs,
      .reported_within = p.token_lifetime};
  const RewardReports* const rewards = p.made->rewards();
  if (rewards == nullptr) return facts;
  facts.epsilon = p.epsilon.value;
  facts.clipped = rewards->uses_windows();
  const RewardRange released = *ReleasedRange(spec);
  facts.low = released.min;
  facts.high = released.max;
  return facts;
}

void AppendRows(const LogEntry& entry, int dimension, std::vector<RewardRow>& rows) {
  const absl::StatusOr<Record> record = Decode(entry.record, dimension);
  if (!record.ok()) return;
  ForEachPart(*record, [&](const EntryPart& part) {
    rows.push_back({.kind = part.event ? RewardKind::kEvent : RewardKind::kShown,
                    .decision = part.decision,
                    .value = part.reward,
                    .sequence = entry.position.sequence,
                    .mark = part.features.empty() ? 0 : ArmMark(part.features, part.keys)});
  });
}

absl::StatusOr<std::unique_ptr<DecisionLog>> OpenDecisionLog(const DecisionLogPlace& place,
                                                             const HostedModelOptions& options) {
  const std::string folder = place.folder + "/" + std::string(kDecisionFolder);
  if (!place.spec.decision_log) {
    BANDANA_RETURN_IF_ERROR(RemoveFolder(folder));
    return std::unique_ptr<DecisionLog>();
  }
  if (options.log->apart()) {
    return FailedPrecondition(
        "decision_log: is for models whose log is in their folder: servers of one database would "
        "each have a part of it, which a deletion could miss");
  }
  if (options.pseudonym_key == nullptr) return FailedPrecondition("decision_log: needs a key");
  const DecisionLogSpec& asked = *place.spec.decision_log;
  DecisionLog::Options opening{.store = {.folder = folder,
                                         .facts = FactsOf(place.spec, place.instance),
                                         .keep = asked.keep,
                                         .bytes_max = asked.bytes_max},
                               .key = options.pseudonym_key,
                               .now = place.now,
                               .free_bytes = options.free_bytes,
                               .warn = options.warn ? options.warn : [](const std::string&) {},
                               .stepped = options.stepped};
  absl::StatusOr<std::unique_ptr<DecisionLog>> opened = DecisionLog::Open(opening);
  if (absl::IsResourceExhausted(opened.status())) {
    // The lines give way to the model, all of them: rewards could be lost meanwhile.
    BANDANA_RETURN_IF_ERROR(RemoveFolder(folder));
    opened = DecisionLog::Open(opening);
    if (absl::IsResourceExhausted(opened.status())) {
      opening.warn(absl::StrCat("decision_log: nothing is kept until the model is opened again: ",
                                opened.status().message()));
      return std::unique_ptr<DecisionLog>();
    }
    opening.warn("decision_log: its lines are gone, because the disk is full");
  }
  BANDANA_RETURN_IF_ERROR(opened.status());
  std::unique_ptr<DecisionLog> decisions = *std::move(opened);
  BANDANA_RETURN_IF_ERROR(Annotate(CatchUp(place, *decisions), "decision_log"));
  return decisions;
}

}  // namespace bandana::server
