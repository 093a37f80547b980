#include "common/decisions/obp_reader.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/decisions/csv_reader.h"
#include "common/decisions/json_parts.h"
#include "common/decisions/jsonl_reader.h"

namespace bandana {
namespace {

// A column that becomes a member.
struct Member {
  std::string_view column;
  std::string_view name;
  bool text;  // not JSON
  bool needed;
};
constexpr Member kMembers[] = {
    {"timestamp", "time", true, true},
    {"decision", "decision", true, true},
    {"slot", "slot", false, true},
    {"list", "list", false, true},
    {"offered", "offered", false, true},
    {"p", "p", false, true},
    {"chosen", "chosen", false, true},
    {"reward", "reward", false, true},
    {"instance", "instance", true, false},
    {"epoch", "epoch", false, false},
    {"version", "version", false, false},
    {"arms", "arms", false, false},
    {"x", "x", false, false},
    {"q", "q", false, false},
    {"range", "range", false, false},
    {"released", "released", false, false},
    {"baseline", "baseline", false, false},
    {"context", "context", false, false},
    {"user", "user", true, false},
};

}  // namespace

// The table as lines of JSON: a line where a row begins, an empty one for each other line of the
// table, so that lines have the numbers that they have there.
struct ObpReader::Rows {
  explicit Rows(DecisionBytes bytes) : reader(std::move(bytes)) {}

  absl::StatusOr<std::size_t> Fill(char* buffer, std::size_t size) {
    while (given == text.size()) {
      text.clear();
      given = 0;
      DecisionFault fault;
      BANDANA_ASSIGN_OR_RETURN(const CsvReader::Next next, reader.Read(cells, fault));
      if (next == CsvReader::Next::kEnd) return std::size_t{0};
      if (next == CsvReader::Next::kFault) {
        faults.push_back(std::move(fault));
      } else {
        AppendLine();
      }
    }
    const std::size_t count = std::min(size, text.size() - given);
    std::memcpy(buffer, text.data() + given, count);
    given += count;
    return count;
  }

  void AppendLine() {
    for (; lines + 1 < reader.line(); ++lines) text += '\n';
    ++lines;
    char before = '{';
    for (std::size_t at = 0; at < cells.size(); ++at) {
      if (members[at] < 0 || cells[at].empty()) continue;
      const Member& member = kMembers[members[at]];
      text += before;
      before = ',';
      json_parts::AppendText(member.name, text);
      text += ':';
      if (member.text) {
        json_parts::AppendText(cells[at], text);
      } else {
        // A line end is white space in JSON, but would end the line.
        std::replace(cells[at].begin(), cells[at].end(), '\n', ' ');
        text += cells[at];
      }
    }
    text += before == '{' ? "{}\n" : "}\n";
  }

  CsvReader reader;
  std::vector<int> members;  // of each column, an index; -1: passed over
  std::vector<std::string> cells;
  std::string text;
  std::size_t given = 0;
  std::uint64_t lines = 0;
  std::deque<DecisionFault> faults;
};

bool ObpReader::Knows(std::span<const std::string> header) {
  return std::all_of(std::begin(kMembers), std::end(kMembers), [&](const Member& member) {
    return !member.needed || std::find(header.begin(), header.end(), member.column) != header.end();
  });
}

absl::StatusOr<std::unique_ptr<ObpReader>> ObpReader::Open(DecisionBytes bytes) {
  auto rows = std::make_unique<Rows>(std::move(bytes));
  BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> header, rows->reader.ReadHeader());
  if (!Knows(header)) {
    return InvalidArgument(
        "line 1: must have the columns timestamp, decision, slot, list, offered, "
        "p, chosen and reward");
  }
  for (const std::string& name : header) {
    const auto found = std::find_if(std::begin(kMembers), std::end(kMembers),
                                    [&](const Member& member) { return member.column == name; });
    rows->members.push_back(
        found == std::end(kMembers) ? -1 : static_cast<int>(found - std::begin(kMembers)));
  }
  return std::unique_ptr<ObpReader>(new ObpReader(std::move(rows)));
}

ObpReader::ObpReader(std::unique_ptr<Rows> rows) : rows_(std::move(rows)) {
  Rows* const table = rows_.get();
  lines_ = std::make_unique<JsonlReader>(
      [table](char* buffer, std::size_t size) { return table->Fill(buffer, size); });
}

ObpReader::~ObpReader() = default;

absl::StatusOr<DecisionStream::Next> ObpReader::Read(LoggedDecision& decision,
                                                     DecisionFault& fault) {
  // Rows that are no rows are told after the last decision.
  BANDANA_ASSIGN_OR_RETURN(const Next next, lines_->Read(decision, fault));
  if (next != Next::kEnd || rows_->faults.empty()) return next;
  fault = std::move(rows_->faults.front());
  rows_->faults.pop_front();
  return Next::kFault;
}

}  // namespace bandana
