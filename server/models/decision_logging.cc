#include "server/models/decision_logging.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/removal.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/judgeable.h"
#include "common/model/entries/records.h"
#include "common/model/paths/entry_events.h"
#include "common/promise/event_rule.h"
#include "common/promise/mechanism.h"
#include "common/promise/reward_reports.h"
#include "server/decisions/decision_files.h"

namespace bandana::server {
namespace {

constexpr int kEntriesAtOnce = 4096;
// Clocks of servers do, and an entry may be read so late.
constexpr absl::Duration kClocksDiffer = absl::Hours(1);

std::function<void(const std::string&)> WarnOf(const HostedModelOptions& options) {
  return options.warn ? options.warn : [](const std::string&) {};
}

// Where a decision log goes on in the model's log.
struct GoesOn {
  std::uint64_t after = 0;               // the entries up to here are in it
  absl::Time at = absl::InfinitePast();  // or before; of the model's clock
};

absl::StatusOr<GoesOn> TakeBack(const DecisionLogPlace& place, DecisionLog& decisions) {
  const DecisionCounts::Through through = decisions.through();
  const std::uint64_t trimmed = place.log.trimmed();
  if (through.sequence > 0) {
    // After a store that was put back, rewards of its lost future are of nothing that was learnt.
    const GoesOn from{std::min(through.sequence, place.applied), through.time};
    if (from.after >= trimmed) BANDANA_RETURN_IF_ERROR(decisions.TakeBackFrom(from.after + 1));
    return from;
  }
  // Perhaps not all rows of the last entry were written: it is read again while it is there.
  std::uint64_t from = std::min(decisions.last_sequence(), place.applied + 1);
  if (from > trimmed) {
    BANDANA_RETURN_IF_ERROR(decisions.TakeBackFrom(from));
    --from;
  }
  return GoesOn{from};
}

// An event that came in a time of which the entries are gone may be of a decision of that time, or
// of one before that could still be reported. Which of them were, nobody may choose lines by.
void GiveUpUnread(const DecisionLogPlace& place, const GoesOn& from, DecisionLog& decisions,
                  const std::function<void(const std::string&)>& warn) {
  const std::uint64_t before = decisions.figures().lines;
  const absl::Duration within = FactsOf(place.spec, place.instance).reported_within;
  decisions.GiveUpSince(from.at - within - kClocksDiffer);
  warn(absl::StrCat("decision_log: ", before - decisions.figures().lines,
                    " lines are gone, because the rewards that came while this server was away "
                    "are not in the model's log any more"));
}

absl::Status CatchUp(const DecisionLogPlace& place, const RowRule& rule, DecisionLog& decisions,
                     const std::function<void(const std::string&)>& warn) {
  BANDANA_ASSIGN_OR_RETURN(const GoesOn from, TakeBack(place, decisions));
  const std::uint64_t trimmed = place.log.trimmed();
  // Without parts the model's own log waits for its decision log.
  const bool unread = from.after < trimmed && rule.part != nullptr;
  if (unread && decisions.figures().lines > 0) GiveUpUnread(place, from, decisions, warn);
  std::uint64_t at = std::max(from.after, trimmed);
  if (decisions.figures().lines == 0) at = place.applied;  // none could get a reward
  std::vector<LogEntry> entries;
  std::vector<RewardRow> rows;
  while (at < place.applied) {
    entries.clear();
    rows.clear();
    const int count = static_cast<int>(std::min<std::uint64_t>(kEntriesAtOnce, place.applied - at));
    BANDANA_RETURN_IF_ERROR(place.log.ReadLeft(at, count, entries));
    if (entries.empty()) return DataLoss("log entry ", at + 1, " is missing");
    for (const LogEntry& entry : entries) AppendRows(entry, rule, rows);
    at = entries.back().position.sequence;
    decisions.AddRewards(rows, at);
  }
  decisions.AddRewards({}, place.applied);
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
      .closes_windows = ClosesWindows(p),
      .reported_within = std::max(p.token_lifetime, EventRuleOf(p).decided_after)};
  const RewardReports* const rewards = p.made->rewards();
  if (rewards == nullptr) return facts;
  facts.epsilon = p.epsilon.value;
  facts.clipped = rewards->uses_windows();
  const RewardRange released = *ReleasedRange(spec);
  facts.low = released.min;
  facts.high = released.max;
  return facts;
}

void AppendRows(const LogEntry& entry, const RowRule& rule, std::vector<RewardRow>& rows) {
  const absl::StatusOr<Record> record = Decode(entry.record, rule.dimension);
  if (!record.ok()) return;
  ForEachPart(*record, [&](const EntryPart& part) {
    const bool made = rule.part == nullptr || rule.part->Made(part.decision);
    if (!made || (part.opens && !rule.openings)) return;
    const RewardKind told = part.opens ? RewardKind::kActive : RewardKind::kShown;
    rows.push_back({.kind = part.event ? RewardKind::kEvent : told,
                    .decision = part.decision,
                    .value = part.reward,
                    .sequence = entry.position.sequence,
                    .mark = part.features.empty() ? 0 : ArmMark(part.features, part.keys)});
  });
}

namespace {

absl::StatusOr<std::unique_ptr<DecisionLog>> OpenFiles(const DecisionLogPlace& place,
                                                       const std::string& folder,
                                                       const HostedModelOptions& options) {
  if (options.pseudonym_key == nullptr) return FailedPrecondition("decision_log: needs a key");
  const DecisionLogSpec& asked = *place.spec.decision_log;
  return DecisionLog::Open({.store = {.folder = folder,
                                      .facts = FactsOf(place.spec, place.instance),
                                      .keep = asked.keep,
                                      .bytes_max = asked.bytes_max},
                            .key = options.pseudonym_key,
                            .now = place.now,
                            .free_bytes = options.free_bytes,
                            .warn = WarnOf(options),
                            .stepped = options.stepped});
}

absl::StatusOr<OpenedDecisions> OpenBoth(const DecisionLogPlace& place, const std::string& folder,
                                         const HostedModelOptions& options) {
  OpenedDecisions opened;
  BANDANA_ASSIGN_OR_RETURN(opened.log, OpenFiles(place, folder, options));
  if (options.parts != nullptr) {
    BANDANA_ASSIGN_OR_RETURN(opened.part, DecisionPart::Open({.store = options.parts,
                                                              .instance = place.instance,
                                                              .folder = folder,
                                                              .issuer = place.issuer,
                                                              .now = place.now(),
                                                              .keep = place.spec.decision_log->keep,
                                                              .warn = WarnOf(options)},
                                                             *opened.log));
  }
  const RowRule rule{.dimension = place.spec.public_spec.dimension,
                     .openings = opened.log->deferred(),
                     .part = opened.part.get()};
  BANDANA_RETURN_IF_ERROR(CatchUp(place, rule, *opened.log, WarnOf(options)));
  if (opened.part != nullptr) BANDANA_RETURN_IF_ERROR(opened.part->CatchUp().status());
  return opened;
}

}  // namespace

absl::StatusOr<OpenedDecisions> OpenDecisionLog(const DecisionLogPlace& place,
                                                const HostedModelOptions& options) {
  const std::string folder = place.folder + "/" + std::string(kDecisionFolder);
  const bool shared = options.parts != nullptr;
  if (!place.spec.decision_log) {
    BANDANA_RETURN_IF_ERROR(shared ? DecisionPart::Leave(*options.parts, place.instance, folder)
                                   : RemoveFolder(folder));
    return OpenedDecisions();
  }
  if (options.log->apart() && !shared) {
    return FailedPrecondition("decision_log: the store has no place for what servers share of it");
  }
  const auto warn = WarnOf(options);
  absl::StatusOr<OpenedDecisions> opened = OpenBoth(place, folder, options);
  if (absl::IsResourceExhausted(opened.status())) {
    // The lines give way to the model, all of them: rewards could be lost meanwhile.
    BANDANA_RETURN_IF_ERROR(RemoveFolder(folder));
    opened = OpenBoth(place, folder, options);
    if (absl::IsResourceExhausted(opened.status())) {
      warn(absl::StrCat("decision_log: nothing is kept until the model is opened again: ",
                        opened.status().message()));
      return OpenedDecisions();
    }
    warn("decision_log: its lines are gone, because the disk is full");
  }
  BANDANA_RETURN_IF_ERROR(Annotate(opened.status(), "decision_log"));
  return opened;
}

}  // namespace bandana::server
