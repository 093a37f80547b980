#include "tools/import/csv_decisions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/exact_number.h"
#include "common/base/status.h"
#include "common/decisions/json_parts.h"

namespace bandana {
namespace {

// The only columns whose zeros say nothing: Open Bandit Dataset has one per arm.
constexpr std::string_view kAffinity = "user-item_affinity_";

struct Part {
  std::string_view name;
  std::string CsvColumns::*column;
};
constexpr Part kParts[] = {{"arm", &CsvColumns::arm},
                           {"reward", &CsvColumns::reward},
                           {"propensity", &CsvColumns::propensity},
                           {"decision", &CsvColumns::decision},
                           {"slot", &CsvColumns::slot},
                           {"time", &CsvColumns::time},
                           {"user", &CsvColumns::user}};

absl::Status SetColumn(std::string_view part, std::string_view column, CsvColumns& columns) {
  if (part == "context") {
    columns.context.emplace_back(column);
    return absl::OkStatus();
  }
  for (const Part& known : kParts) {
    if (part != known.name) continue;
    if (!(columns.*known.column).empty()) {
      return InvalidArgument("columns: ", ToAbsl(part), " stands twice");
    }
    columns.*known.column = column;
    return absl::OkStatus();
  }
  return InvalidArgument(
      "columns: must name arm, reward, propensity, decision, slot, time, user or context, got \"",
      ToAbsl(part), "\"");
}

// The position of a column that is named; -1: none is. False: the table has not the column.
bool Locate(const std::vector<std::string>& header, const std::string& name, int& at) {
  at = -1;
  if (name.empty()) return true;
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return false;
  at = static_cast<int>(found - header.begin());
  return true;
}

absl::Status NoColumn(const std::string& name) {
  return InvalidArgument("line 1: the table has no column \"", name, "\"");
}

bool FiniteNumber(const std::string& cell, double& out) {
  return absl::SimpleAtod(cell, &out) && std::isfinite(out);
}

// "2019-11-24 00:00:11.11+00:00" as well as RFC 3339, without a zone as UTC, or seconds since 1970.
bool ParseCellTime(std::string cell, absl::Time& time) {
  double seconds = 0;
  if (FiniteNumber(cell, seconds)) {
    time = absl::UnixEpoch() + absl::Seconds(seconds);
    return std::abs(seconds) < 1e11;
  }
  if (cell.size() > 10 && cell[10] == ' ') cell[10] = 'T';
  std::string error;
  return (absl::ParseTime(absl::RFC3339_full, cell, &time, &error) ||
          absl::ParseTime("%Y-%m-%dT%H:%M:%E*S", cell, absl::UTCTimeZone(), &time, &error)) &&
         time != absl::InfiniteFuture() && time != absl::InfinitePast();
}

}  // namespace

absl::StatusOr<CsvColumns> ParseCsvColumns(std::string_view text) {
  CsvColumns columns;
  for (const absl::string_view pair : absl::StrSplit(ToAbsl(text), ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    if (parts.second.empty()) {
      return InvalidArgument("columns: must be PART=COLUMN,..., got \"", pair, "\"");
    }
    BANDANA_RETURN_IF_ERROR(SetColumn(ToStd(parts.first), ToStd(parts.second), columns));
  }
  if (columns.arm.empty() || columns.reward.empty()) {
    return InvalidArgument("columns: arm and reward must be named");
  }
  if (!columns.slot.empty() && columns.decision.empty()) {
    return InvalidArgument("columns: slot needs decision, which says what stands in one list");
  }
  return columns;
}

absl::StatusOr<ArmList> ReadCsvArms(DecisionBytes bytes, const std::string& column) {
  CsvReader reader(std::move(bytes));
  BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> header, reader.ReadHeader());
  int at = -1;
  if (!Locate(header, column, at)) return NoColumn(column);
  ArmList arms;
  std::vector<std::string> cells;
  DecisionFault fault;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const CsvReader::Next next, reader.Read(cells, fault));
    if (next == CsvReader::Next::kEnd) break;
    if (next == CsvReader::Next::kFault || cells[at].empty()) continue;  // told by CsvDecisions
    if (const absl::Status added = arms.Add(cells[at]); !added.ok()) {
      return Annotate(added, absl::StrCat("line ", reader.line(), ": ", column));
    }
  }
  arms.Sort();
  return arms;
}

absl::StatusOr<std::unique_ptr<CsvDecisions>> CsvDecisions::Open(DecisionBytes bytes,
                                                                 CsvOptions options,
                                                                 const ArmList& arms) {
  const CsvColumns columns = options.columns;
  std::unique_ptr<CsvDecisions> source(
      new CsvDecisions(std::move(bytes), std::move(options), arms));
  BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> header, source->reader_.ReadHeader());
  Positions& at = source->at_;
  for (const auto& [name, position] : {std::pair{&columns.arm, &at.arm},
                                       {&columns.reward, &at.reward},
                                       {&columns.propensity, &at.propensity},
                                       {&columns.decision, &at.decision},
                                       {&columns.slot, &at.slot},
                                       {&columns.time, &at.time},
                                       {&columns.user, &at.user}}) {
    if (!Locate(header, *name, *position)) return NoColumn(*name);
  }
  for (std::string pattern : columns.context) {
    const bool prefix = pattern.ends_with('*');
    if (prefix) pattern.pop_back();
    const std::size_t before = at.context.size();
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (prefix ? header[i].starts_with(pattern) : header[i] == pattern) {
        at.context.emplace_back(i, header[i]);
      }
    }
    if (at.context.size() == before && !prefix) return NoColumn(pattern);
  }
  return source;
}

void CsvDecisions::Fault(std::string_view reason, std::string message) {
  if (!row_.reason.empty()) return;  // the first counts
  row_.reason = reason;
  row_.message = std::move(message);
}

void CsvDecisions::FillHead() {
  LoggedDecision& head = row_.head;
  head = LoggedDecision();
  head.range = options_.range;
  head.id = at_.decision < 0 ? absl::StrCat(row_.line) : cells_[at_.decision];
  if (head.id.empty() || head.id.size() > kDecisionTextBytesMax) {
    Fault(skip_reason::kMalformed,
          absl::StrCat(options_.columns.decision, ": must be a text of 1 to 128 bytes"));
  }
  if (at_.time >= 0 && !ParseCellTime(cells_[at_.time], head.time)) {
    Fault(skip_reason::kMalformed,
          absl::StrCat(options_.columns.time,
                       ": must be a time as 2026-11-27T03:04:05Z, or seconds since 1970"));
  }
  if (at_.user >= 0) {
    head.user = cells_[at_.user];
    if (head.user.size() > kDecisionTextBytesMax) {
      Fault(skip_reason::kMalformed,
            absl::StrCat(options_.columns.user, ": must have at most 128 bytes"));
    }
  }
  row_.at = 0;
  if (at_.slot >= 0 && !absl::SimpleAtoi(cells_[at_.slot], &row_.at)) {
    Fault(skip_reason::kMalformed, absl::StrCat(options_.columns.slot, ": must be a whole number"));
  }
  for (const auto& [column, name] : at_.context) {
    const std::string& cell = cells_[column];
    double number = 0;
    if (cell.empty()) continue;
    if (name.starts_with(kAffinity) && FiniteNumber(cell, number) && number == 0) continue;
    head.context += head.context.empty() ? '{' : ',';
    json_parts::AppendText(name, head.context);
    head.context += ':';
    if (ReadExactNumber(cell)) {
      head.context += cell;
    } else {
      json_parts::AppendText(cell, head.context);
    }
  }
  if (!head.context.empty()) head.context += '}';
}

// Chosen arm, its propensity as logged, reward.
void CsvDecisions::FillArm() {
  const CsvColumns& columns = options_.columns;
  LoggedSlot& slot = row_.slot;
  slot = LoggedSlot();
  const std::uint32_t* const found = arms_.Find(cells_[at_.arm]);
  if (found == nullptr) {
    Fault(skip_reason::kMalformed,
          absl::StrCat(columns.arm,
                       cells_[at_.arm].empty() ? ": is missing" : ": is not one of the arms"));
    return;
  }
  slot.chosen = *found;
  slot.offered = static_cast<std::uint32_t>(arms_.size());
  if (arms_.size() <= options_.arms_in_line_max) {
    for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
      if (arms_.numbered()) {
        slot.ids.push_back(arms_.id(arm));
      } else {
        slot.names.push_back(arms_.name(arm));
      }
    }
  }
  if (options_.law != ImportedLaw::kUniform) {
    const std::string& cell = cells_[at_.propensity];
    if (!absl::SimpleAtod(cell, &slot.chosen_p)) {
      Fault(skip_reason::kPropensity, absl::StrCat(columns.propensity, ": must be a number"));
    }
  }
  const std::string& reward = cells_[at_.reward];
  slot.state = reward.empty() ? RewardState::kUnreported : RewardState::kKnown;
  if (!reward.empty() && !FiniteNumber(reward, slot.reward)) {
    Fault(skip_reason::kReward, absl::StrCat(columns.reward, ": must be a finite number"));
  }
}

// A uniform law, of the arms that no slot before has.
void CsvDecisions::FillLaw(LoggedDecision& decision) const {
  if (options_.law != ImportedLaw::kUniform) return;
  std::vector<std::uint32_t> taken;
  for (LoggedSlot& slot : decision.slots) {
    const double chance = 1 / static_cast<double>(arms_.size() - taken.size());
    if (arms_.size() <= options_.arms_in_line_max) {
      slot.p.assign(arms_.size(), chance);
      for (const std::uint32_t arm : taken) slot.p[arm] = 0;
    }
    const bool repeated = std::find(taken.begin(), taken.end(), slot.chosen) != taken.end();
    slot.chosen_p = repeated ? 0 : chance;
    if (!repeated) taken.push_back(slot.chosen);
  }
}

void CsvDecisions::FillRow() {
  row_.reason = {};
  row_.message.clear();
  FillHead();
  FillArm();
}

absl::StatusOr<bool> CsvDecisions::ReadRow() {
  if (std::exchange(held_, false)) return true;
  DecisionFault fault;
  BANDANA_ASSIGN_OR_RETURN(const CsvReader::Next next, reader_.Read(cells_, fault));
  if (next == CsvReader::Next::kEnd) return false;
  row_.line = reader_.line();
  if (next == CsvReader::Next::kRow) {
    FillRow();
  } else {
    row_.head.id.clear();
    row_.reason = fault.reason;
    row_.message = fault.message.substr(fault.message.find(": ") + 2);
  }
  return true;
}

absl::StatusOr<DecisionStream::Next> CsvDecisions::Read(LoggedDecision& decision,
                                                        DecisionFault& fault) {
  BANDANA_ASSIGN_OR_RETURN(const bool found, ReadRow());
  if (!found) return Next::kEnd;
  line_ = row_.line;
  std::uint64_t lines = 0;
  std::string_view reason;
  std::string message;
  decision.slots.clear();
  const std::string id = row_.head.id;
  for (;;) {
    ++lines;
    if (base_ < 0 && row_.reason.empty() && at_.slot >= 0 && row_.at <= 1) {
      base_ = static_cast<int>(row_.at);
    }
    const std::uint64_t due = lines - 1 + static_cast<std::uint64_t>(std::max(base_, 0));
    if (row_.reason.empty() && at_.slot >= 0 && row_.at != due) {
      Fault(skip_reason::kSlotMissing,
            absl::StrCat(options_.columns.slot, ": must be ", due, ", got ", row_.at));
    }
    if (row_.reason.empty() && lines > kDecisionSlotsMax) {
      Fault(skip_reason::kMalformed,
            absl::StrCat(options_.columns.decision, ": a list must have at most 100 slots"));
    }
    if (reason.empty() && !row_.reason.empty()) {
      reason = row_.reason;
      message = absl::StrCat("line ", row_.line, ": ", row_.message);
    }
    if (lines == 1) {
      std::vector<LoggedSlot> slots = std::move(decision.slots);
      decision = row_.head;
      decision.slots = std::move(slots);
    }
    if (reason.empty()) decision.slots.push_back(row_.slot);
    if (at_.slot < 0 || id.empty()) break;
    BANDANA_ASSIGN_OR_RETURN(const bool more, ReadRow());
    if (!more) break;
    held_ = row_.head.id != id;
    if (held_) break;
  }
  if (reason.empty()) {
    FillLaw(decision);
    return Next::kDecision;
  }
  fault = {line_, lines, reason, message};
  return Next::kFault;
}

}  // namespace bandana
