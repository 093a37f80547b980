#include "client/core/report_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "client/core/cells.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::size_t kReportOwner = 2;
constexpr std::size_t kReportState = 3;
constexpr std::size_t kReportContent = 7;

std::int64_t ToMicros(absl::Time time) { return absl::ToUnixMicros(time); }
absl::Time FromMicros(std::int64_t micros) { return absl::FromUnixMicros(micros); }

// None of bytes that are no content.
std::optional<ReportRow> ReadReport(Record& row) {
  ReportRow report = {.number = IntegerAt(row, 0),
                      .policy = IntegerAt(row, 1),
                      .owner = IntegerAt(row, kReportOwner),
                      .state = static_cast<ReportState>(IntegerAt(row, kReportState)),
                      .wake_at = FromMicros(IntegerAt(row, 4)),
                      .due_at = FromMicros(IntegerAt(row, 5)),
                      .user = BytesAt(row, 6)};
  const SecretBytes content(TakeBytes(row, kReportContent));
  ByteReader reader(content.get());
  report.token = std::string(reader.Block());
  report.features = std::string(reader.Block());
  report.report = std::string(reader.Block());
  Opening& opening = report.opening;
  opening.shown = static_cast<int>(reader.U64());
  opening.epoch = reader.U64();
  opening.close = FromMicros(static_cast<std::int64_t>(reader.U64()));
  opening.window = std::string(reader.Block());
  opening.reacted = reader.U64() != 0;
  opening.held = SecretBytes(std::string(reader.Block()));
  return reader.Done() ? std::optional(std::move(report)) : std::nullopt;
}

SecretBytes ContentOf(const ReportRow& row) {
  std::string content;
  content.reserve(row.token.size() + row.features.size() + row.report.size() + 128);
  ByteWriter writer(content);
  writer.Block(row.token);
  writer.Block(row.features);
  writer.Block(row.report);
  const Opening& opening = row.opening;
  writer.U64(static_cast<std::uint64_t>(opening.shown));
  writer.U64(opening.epoch);
  writer.U64(static_cast<std::uint64_t>(ToMicros(opening.close)));
  writer.Block(opening.window);
  writer.U64(opening.reacted ? 1 : 0);
  writer.Block(opening.held.get());
  return SecretBytes(std::move(content));
}

absl::Status DamagedReport() { return DataLoss("device store: a report row is damaged"); }

}  // namespace

absl::Status ReportRows::Load() {
  envelopes_.clear();
  wakes_.clear();
  rows_->Scan(Table::kReports, {}, [this](Record& row) {
    const auto report = ReadReport(row);
    if (!report) {
      rows_->Fail(DamagedReport());
      return false;
    }
    Note(report->number, {report->policy, report->owner, report->state, ToMicros(report->wake_at),
                          ToMicros(report->due_at)});
    return true;
  });
  return rows_->failure();
}

void ReportRows::Note(DecisionNumber number, const Envelope& envelope) {
  Forget(number);
  envelopes_[number] = envelope;
  wakes_.insert({envelope.owner, envelope.state, envelope.wake_at, number});
}

void ReportRows::Forget(DecisionNumber number) {
  const auto found = envelopes_.find(number);
  if (found == envelopes_.end()) return;
  const Envelope& envelope = found->second;
  wakes_.erase({envelope.owner, envelope.state, envelope.wake_at, number});
  envelopes_.erase(found);
}

void ReportRows::Put(const ReportRow& row) {
  Note(row.number, {row.policy, row.owner, row.state, ToMicros(row.wake_at), ToMicros(row.due_at)});
  SecretBytes content = ContentOf(row);
  rows_->Put(Table::kReports,
             {row.number, row.policy, row.owner, static_cast<std::int64_t>(row.state),
              ToMicros(row.wake_at), ToMicros(row.due_at), row.user, std::move(content.get())});
}

void ReportRows::PutEnvelope(DecisionNumber number, const Envelope& envelope) {
  auto row = rows_->Get(Table::kReports, {number});
  if (!row) return;
  Note(number, envelope);
  (*row)[kReportOwner] = envelope.owner;
  (*row)[kReportState] = static_cast<std::int64_t>(envelope.state);
  rows_->Put(Table::kReports, *std::move(row));
}

std::optional<ReportRow> ReportRows::Find(DecisionNumber number) {
  auto row = rows_->Get(Table::kReports, {number});
  if (!row) return std::nullopt;
  auto report = ReadReport(*row);
  if (!report) rows_->Fail(DamagedReport());
  return report;
}

void ReportRows::Delete(DecisionNumber number) {
  Forget(number);
  rows_->Erase(Table::kReports, {number});
}

std::vector<ReportRow> ReportRows::Awake(OwnerId owner, ReportState state, absl::Time now,
                                         int limit) {
  std::vector<ReportRow> rows;
  auto wake = wakes_.lower_bound({owner, state, std::numeric_limits<std::int64_t>::min(), 0});
  for (; wake != wakes_.end() && rows.size() < static_cast<std::size_t>(limit); ++wake) {
    const auto& [of, in, at, number] = *wake;
    if (of != owner || in != state || at > ToMicros(now)) break;
    auto row = Find(number);
    if (row) rows.push_back(*std::move(row));
  }
  return rows;
}

std::optional<absl::Time> ReportRows::NextWake(OwnerId owner) const {
  std::optional<absl::Time> earliest;
  for (const ReportState state : {ReportState::kOpen, ReportState::kReady}) {
    const auto wake =
        wakes_.lower_bound({owner, state, std::numeric_limits<std::int64_t>::min(), 0});
    if (wake == wakes_.end() || std::get<0>(*wake) != owner || std::get<1>(*wake) != state) {
      continue;
    }
    const absl::Time at = FromMicros(std::get<2>(*wake));
    earliest = earliest ? std::min(*earliest, at) : at;
  }
  return earliest;
}

int ReportRows::Adopt(OwnerId owner, const std::set<PolicyId>& policies,
                      const std::set<OwnerId>& live) {
  int adopted = 0;
  for (const DecisionNumber number : numbers()) {
    Envelope envelope = envelopes_[number];
    if (!policies.contains(envelope.policy) || live.contains(envelope.owner)) continue;
    envelope.owner = owner;
    if (envelope.state == ReportState::kOutbound) envelope.state = ReportState::kReady;
    PutEnvelope(number, envelope);
    ++adopted;
  }
  return adopted;
}

bool ReportRows::IsAnyOpen(absl::Time now) const {
  return std::any_of(envelopes_.begin(), envelopes_.end(), [now](const auto& entry) {
    return entry.second.state == ReportState::kOpen && entry.second.due_at > ToMicros(now);
  });
}

std::vector<DecisionNumber> ReportRows::OpenSince(OwnerId owner, absl::Time time) const {
  std::vector<DecisionNumber> found;
  for (const auto& [number, envelope] : envelopes_) {
    if (envelope.owner == owner && envelope.state == ReportState::kOpen &&
        envelope.due_at <= ToMicros(time)) {
      found.push_back(number);
    }
  }
  return found;
}

void ReportRows::ReadyAgain(OwnerId owner) {
  for (const DecisionNumber number : numbers()) {
    Envelope envelope = envelopes_[number];
    if (envelope.owner != owner || envelope.state != ReportState::kOutbound) continue;
    envelope.state = ReportState::kReady;
    PutEnvelope(number, envelope);
  }
}

void ReportRows::TakeForOld(OwnerId owner) {
  for (const DecisionNumber number : numbers()) {
    const Envelope& envelope = envelopes_[number];
    if (envelope.owner != owner || envelope.state == ReportState::kOpen) continue;
    auto row = Find(number);
    if (!row) continue;
    row->due_at = absl::UnixEpoch();
    Put(*row);
  }
}

std::vector<DecisionNumber> ReportRows::numbers() const {
  std::vector<DecisionNumber> numbers;
  numbers.reserve(envelopes_.size());
  for (const auto& [number, envelope] : envelopes_) numbers.push_back(number);
  return numbers;
}

}  // namespace bandana::device
