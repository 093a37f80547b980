#include "common/features/value_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace bandana {
namespace {

constexpr std::size_t kShownBytesMax = 32;

std::string TextOfPath(const ValuePath& path, std::string_view field) {
  std::string text(path.list);
  if (path.index >= 0) absl::StrAppend(&text, "[", path.index, "].", ToAbsl(path.member));
  return absl::StrCat(text, ".", ToAbsl(field));
}

// Whether it is a byte of a character of UTF-8, and not the first one.
bool IsInsideCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// As in C; characters other than those of ASCII stay.
std::string Escaped(std::string_view text) {
  constexpr std::string_view kBytes = "\n\r\t\"'\\";
  constexpr std::string_view kLetters = "nrt\"'\\";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t known = kBytes.find(c); known != std::string_view::npos) {
      escaped += {'\\', kLetters[known]};
    } else if (IsControl(c)) {
      escaped += {'\\', static_cast<char>('0' + byte / 64), static_cast<char>('0' + byte / 8 % 8),
                  static_cast<char>('0' + byte % 8)};
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string_view Consequence(Found found) {
  return found == Found::kOutOfBounds ? "counts as the nearest that is" : "counts as missing";
}

}  // namespace

std::string ShowText(std::string_view text) {
  const bool whole = text.size() <= kShownBytesMax;
  std::size_t end = std::min(text.size(), kShownBytesMax);
  // Half a character would make a message that no peer can read.
  while (!whole && end > 0 && IsInsideCharacter(text[end])) --end;
  return absl::StrCat("\"", Escaped(text.substr(0, end)), "\"", whole ? "" : "..");
}

std::string ShowValue(const NamedValue& value) {
  switch (value.kind) {
    case NamedValue::Kind::kNumber:
      return absl::StrCat(value.number);
    case NamedValue::Kind::kText:
      return ShowText(value.text);
    case NamedValue::Kind::kFlag:
      return value.flag ? "true" : "false";
    case NamedValue::Kind::kObject:
      return "an object";
    case NamedValue::Kind::kList:
      return absl::StrCat("a list of ", value.list.size());
    case NamedValue::Kind::kNull:
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
                            const ValuePath& path, const NamedValue& value) {
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
