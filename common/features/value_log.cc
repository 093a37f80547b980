#include "common/features/value_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana {
namespace {

using google::protobuf::Value;

constexpr std::size_t kShownBytesMax = 32;

std::string TextOfPath(const ValuePath& path, std::string_view field) {
  std::string text(path.list);
  if (path.index >= 0) absl::StrAppend(&text, "[", path.index, "].", ToAbsl(path.member));
  return absl::StrCat(text, ".", ToAbsl(field));
}

// Whether it is a byte of a character of UTF-8, and not the first one.
bool IsInsideCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::string_view Consequence(Found found) {
  return found == Found::kOutOfBounds ? "counts as the nearest that is" : "counts as missing";
}

}  // namespace

std::string ShowText(std::string_view text) {
  const bool whole = text.size() <= kShownBytesMax;
  std::size_t end = std::min(text.size(), kShownBytesMax);
  // Half a character would make a message that no peer can read.
  while (!whole && end > 0 && IsInsideCharacter(text[end])) --end;
  return absl::StrCat("\"", absl::Utf8SafeCEscape(ToAbsl(text.substr(0, end))), "\"",
                      whole ? "" : "..");
}

std::string ShowValue(const Value& value) {
  switch (value.kind_case()) {
    case Value::kNumberValue:
      return absl::StrCat(value.number_value());
    case Value::kStringValue:
      return ShowText(value.string_value());
    case Value::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case Value::kStructValue:
      return "an object";
    case Value::kListValue:
      return absl::StrCat("a list of ", value.list_value().values_size());
    case Value::kNullValue:
    case Value::KIND_NOT_SET:
      break;
  }
  return "null";
}

void ValueLog::Begin(ValueRule rule, std::size_t fields) {
  rule_ = rule;
  counts_.assign(fields, FieldCount{});
  notes_.clear();
}

void ValueLog::Note(const ValuePath& path, std::string_view field, const std::string& text) {
  if (notes_.size() >= kNotesMax) return;
  notes_.push_back(absl::StrCat(TextOfPath(path, field), ": ", text));
}

absl::Status ValueLog::Take(const FeatureField& field, std::size_t number, Found found,
                            const ValuePath& path, const Value& value) {
  FieldCount& count = counts_[number];
  ++count.values;
  if (found == Found::kValue) return absl::OkStatus();
  const bool open = rule_ == ValueRule::kOpen;
  std::string what = field.Constraint(found);
  if (open) absl::StrAppend(&what, ", got ", ShowValue(value));
  if (found == Found::kWrong && open) {
    return InvalidArgument(TextOfPath(path, field.name()), ": ", what);
  }
  count.unknown += found == Found::kUnknown ? 1 : 0;
  count.out_of_bounds += found == Found::kOutOfBounds ? 1 : 0;
  count.missing += found == Found::kWrong ? 1 : 0;
  Note(path, field.name(), absl::StrCat(what, "; ", ToAbsl(Consequence(found))));
  return absl::OkStatus();
}

absl::Status ValueLog::TakeUnknownName(std::string_view name, const ValuePath& path,
                                       const std::string& known) {
  if (rule_ == ValueRule::kOpen) {
    return InvalidArgument(TextOfPath(path, ShowText(name)),
                           ": the model's schema has no such field", known);
  }
  // The name may be the caller's secret as well: it stays out.
  Note(path, "*", "has a name that the model's schema does not have; it is left out");
  return absl::OkStatus();
}

}  // namespace bandana
