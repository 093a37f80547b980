#include "server/api/admin/admin_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/decisions/csv_reader.h"
#include "common/design/files/arm_facts.h"
#include "server/api/json_call.h"
#include "server/api/json_writer.h"

namespace bandana::server {
namespace {

using google::protobuf::Message;

constexpr std::string_view kArmHeader = "id,name,tags,features,groups,fields,availability\r\n";
constexpr std::string_view kUserHeader = "id,node,groups\r\n";

absl::Status AddPairs(const std::string& cell,
                      google::protobuf::Map<std::string, std::string>& to) {
  for (const absl::string_view pair : absl::StrSplit(cell, ',', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    if (parts.size() != 2) return InvalidArgument("must be NAME=VALUE,NAME=VALUE");
    to[parts[0]] = parts[1];
  }
  return absl::OkStatus();
}

absl::Status AddFeatures(const std::string& cell, v1::Arm& arm) {
  for (const absl::string_view text : absl::StrSplit(cell, ' ', absl::SkipEmpty())) {
    double value = 0;
    if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
      return InvalidArgument("must be finite numbers separated by spaces");
    }
    arm.add_features(value);
  }
  return absl::OkStatus();
}

google::protobuf::Value ValueOf(const std::string& cell) {
  google::protobuf::Value value;
  double number = 0;
  if (cell == "true" || cell == "false") {
    value.set_bool_value(cell == "true");
  } else if (absl::SimpleAtod(cell, &number) && std::isfinite(number)) {
    value.set_number_value(number);
  } else {
    value.set_string_value(cell);
  }
  return value;
}

template <typename Number>
absl::StatusOr<Number> WholeNumber(const std::string& cell) {
  Number value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) {
    return InvalidArgument("must be a whole number below 2^32");
  }
  return value;
}

// Columns whose names are of the kind `group:NAME`.
std::optional<std::string> NameAfter(const std::string& column, std::string_view kind) {
  if (!column.starts_with(kind)) return std::nullopt;
  return column.substr(kind.size());
}

// Facts are gathered from several cells.
struct ArmCells {
  v1::Arm& arm;
  ArmFacts facts = {};
};

absl::Status FillArm(const std::string& column, const std::string& cell, ArmCells& cells) {
  v1::Arm& arm = cells.arm;
  if (column == "id") {
    BANDANA_ASSIGN_OR_RETURN(const auto id, WholeNumber<std::uint32_t>(cell));
    arm.set_id(id);
    return absl::OkStatus();
  }
  if (column == "features") return AddFeatures(cell, arm);
  if (column == "groups") return AddPairs(cell, *arm.mutable_groups());
  if (column == "fields") return ParseFields(cell, cells.facts);
  if (column == "availability") return ParseAvailability(cell, cells.facts);
  if (column == "name") {
    arm.set_name(cell);
  } else if (column == "tags") {
    for (const absl::string_view tag : absl::StrSplit(cell, ',')) arm.add_tags(std::string(tag));
  } else if (const auto group = NameAfter(column, "group:")) {
    (*arm.mutable_groups())[*group] = cell;
  } else if (const auto feature = NameAfter(column, "feature:")) {
    (*arm.mutable_named_features()->mutable_fields())[*feature] = ValueOf(cell);
  } else if (const auto field = NameAfter(column, "field:")) {
    double value = 0;
    if (!absl::SimpleAtod(cell, &value)) return InvalidArgument("must be a number");
    cells.facts.fields[*field] = value;
  } else {
    return InvalidArgument("there is no such column of arms");
  }
  return absl::OkStatus();
}

absl::Status FillUser(const std::string& column, const std::string& cell, v1::User& user) {
  if (column == "node") {
    BANDANA_ASSIGN_OR_RETURN(const auto node, WholeNumber<std::uint32_t>(cell));
    user.set_node(node);
  } else if (column == "id") {
    user.set_id(cell);
  } else if (column == "groups") {
    return AddPairs(cell, *user.mutable_groups());
  } else if (column == "friends") {
    for (const absl::string_view id : absl::StrSplit(cell, ',')) user.add_friends(std::string(id));
  } else if (const auto group = NameAfter(column, "group:")) {
    (*user.mutable_groups())[*group] = cell;
  } else {
    return InvalidArgument("there is no such column of users");
  }
  return absl::OkStatus();
}

absl::Status FillRow(const std::vector<std::string>& columns, const std::vector<std::string>& cells,
                     Message& row) {
  auto* const user = dynamic_cast<v1::User*>(&row);
  auto* const arm = dynamic_cast<v1::Arm*>(&row);
  if (user == nullptr && arm == nullptr)
    return absl::UnimplementedError("csv: these have no columns");
  std::optional<ArmCells> of_arm;
  if (arm != nullptr) of_arm.emplace(ArmCells{.arm = *arm});
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (cells[i].empty()) continue;
    const absl::Status filled =
        of_arm ? FillArm(columns[i], cells[i], *of_arm) : FillUser(columns[i], cells[i], *user);
    if (!filled.ok()) return Annotate(filled, columns[i]);
  }
  if (of_arm) FillFacts(of_arm->facts, *arm);
  return absl::OkStatus();
}

absl::Status ReadCsv(std::string_view rest, Message& row,
                     const std::function<absl::Status()>& take) {
  // The reader takes a last row without line end for a cut one.
  std::string_view end = rest.empty() || rest.ends_with('\n') ? "" : "\n";
  CsvReader reader([&](char* buffer, std::size_t size) -> absl::StatusOr<std::size_t> {
    if (rest.empty()) rest = std::exchange(end, {});
    const std::string_view taken = rest.substr(0, size);
    std::ranges::copy(taken, buffer);
    rest.remove_prefix(taken.size());
    return taken.size();
  });
  BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> columns, reader.ReadHeader());
  if (std::ranges::find(columns, "id") == columns.end()) {
    return InvalidArgument("header: must have the column id");
  }
  std::vector<std::string> cells;
  DecisionFault fault;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const CsvReader::Next next, reader.Read(cells, fault));
    if (next == CsvReader::Next::kEnd) return absl::OkStatus();
    if (next == CsvReader::Next::kFault) return InvalidArgument(fault.message);
    row.Clear();
    const absl::Status filled = FillRow(columns, cells, row);
    if (!filled.ok()) return Annotate(filled, absl::StrCat("line ", reader.line()));
    BANDANA_RETURN_IF_ERROR(take());
  }
}

absl::Status ReadJsonLines(std::string_view body, Message& row,
                           const std::function<absl::Status()>& take) {
  BANDANA_ASSIGN_OR_RETURN(TextLines lines, TextLines::Of(body));
  for (std::string_view line; lines.Next(line);) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    row.Clear();
    const absl::Status read = FromJson(line, row);
    if (!read.ok()) return Annotate(read, absl::StrCat("line ", lines.number()));
    BANDANA_RETURN_IF_ERROR(take());
  }
  return absl::OkStatus();
}

std::string Quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string Pairs(const google::protobuf::Map<std::string, std::string>& map) {
  const std::map<std::string, std::string> sorted(map.begin(), map.end());
  return absl::StrJoin(sorted, ",", absl::PairFormatter("="));
}

std::string CsvRow(const std::vector<std::string>& cells) {
  return absl::StrJoin(cells, ",",
                       [](std::string* out, const std::string& cell) { *out += Quoted(cell); }) +
         "\r\n";
}

absl::StatusOr<std::string> CsvLine(const Message& row) {
  if (const auto* const user = dynamic_cast<const v1::User*>(&row); user != nullptr) {
    return CsvRow(
        {user->id(), user->has_node() ? absl::StrCat(user->node()) : "", Pairs(user->groups())});
  }
  const auto* const arm = dynamic_cast<const v1::Arm*>(&row);
  if (arm == nullptr) return absl::UnimplementedError("csv: these have no columns");
  BANDANA_ASSIGN_OR_RETURN(const ArmFacts facts, FactsOf(*arm));
  const std::string features =
      absl::StrJoin(arm->features(), " ", [](std::string* out, double value) {
        std::array<char, 32> text;  // the shortest that is read as this number
        out->append(text.data(), std::to_chars(text.begin(), text.end(), value).ptr);
      });
  return CsvRow({absl::StrCat(arm->id()), arm->name(), absl::StrJoin(arm->tags(), ","), features,
                 Pairs(arm->groups()), facts.fields.empty() ? "" : FieldsText(facts),
                 AvailabilityText(facts)});
}

}  // namespace

absl::StatusOr<RowText> RowTextOf(std::string_view type) {
  const std::vector<std::string> parts = absl::StrSplit(ToAbsl(type), ';');
  const std::string name = absl::AsciiStrToLower(absl::StripAsciiWhitespace(parts[0]));
  if (name == "text/csv") return RowText::kCsv;
  if (name == "application/x-ndjson" || name == "application/jsonl") return RowText::kJsonLines;
  return InvalidArgument("content-type: must be application/x-ndjson (JSON Lines) or text/csv");
}

std::string_view TypeOf(RowText text) {
  return text == RowText::kCsv ? "text/csv; charset=utf-8" : "application/x-ndjson";
}

absl::Status ReadRows(std::string_view body, RowText text, Message& row,
                      const std::function<absl::Status()>& take) {
  if (text == RowText::kJsonLines) return ReadJsonLines(body, row, take);
  BANDANA_ASSIGN_OR_RETURN(const std::string_view plain, PlainText(body));
  return ReadCsv(plain, row, take);
}

absl::StatusOr<std::string> RowHeader(const Message& row, RowText text) {
  if (text == RowText::kJsonLines) return std::string();
  if (dynamic_cast<const v1::Arm*>(&row) != nullptr) return std::string(kArmHeader);
  if (dynamic_cast<const v1::User*>(&row) != nullptr) return std::string(kUserHeader);
  return absl::UnimplementedError("csv: these have no columns; ask for application/x-ndjson");
}

absl::StatusOr<std::string> RowLine(const Message& row, RowText text) {
  if (text == RowText::kCsv) return CsvLine(row);
  BANDANA_ASSIGN_OR_RETURN(std::string line, ToJson(row));
  line += '\n';
  return line;
}

}  // namespace bandana::server
