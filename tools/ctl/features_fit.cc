// Proposes a schema of named features for public examples.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/wire_messages.h"
#include "common/features/fields.h"
#include "common/features/schema.h"
#include "common/features/value_log.h"
#include "tools/ctl/features.h"
#include "tools/ctl/json.h"

namespace bandana {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// More texts than this are hashed.
constexpr std::size_t kListedMax = 32;
constexpr int kHashBits = 6;
// Bounds leave out this share of the values at each end, rounded down: one typing mistake among
// many would flatten all else.
constexpr double kTail = 0.005;
// No bound may be beyond it (NumericField).
constexpr double kBoundAbsMax = 1e15;
// Numbers whose largest is so many times the least are taken by their logarithm.
constexpr double kLogRatio = 100;
constexpr double kWordsOfText = 3;

constexpr char kHead[] =
    "# Proposed for public examples: read every line. Entries that come more often than others\n"
    "# deserve fields of their own, and a field that says nothing about rewards only costs.\n"
    "# In a private model bounds and values must be declared or come from public data, never from\n"
    "# what its users did: they are public, and part of the policy.\n";

// The values that came for one field.
struct Seen {
  std::map<std::string, int> texts;  // how often
  std::vector<double> numbers;
  std::vector<double> norms;  // of lists of numbers
  std::size_t length = 0;     // of these lists, where it is the same
  int flags = 0;
  int lists = 0;  // of texts
  int words = 0;
  int values = 0;
  bool mixed = false;
};

void TakeList(const google::protobuf::ListValue& list, Seen& seen) {
  std::string digits;
  double sum = 0;
  bool numbers = list.values_size() > 0;
  for (const Value& element : list.values()) {
    numbers = numbers && element.kind_case() == Value::kNumberValue;
    sum += element.number_value() * element.number_value();
  }
  if (numbers) {
    const auto length = static_cast<std::size_t>(list.values_size());
    seen.mixed = seen.mixed || (!seen.norms.empty() && seen.length != length);
    seen.length = length;
    seen.norms.push_back(std::sqrt(sum));
    return;
  }
  ++seen.lists;
  for (const Value& element : list.values()) {
    if (const auto text = TextOf(FromProto(element), digits)) {
      ++seen.texts[std::string(*text)];
    } else {
      seen.mixed = true;
    }
  }
}

void Take(const Value& value, Seen& seen) {
  ++seen.values;
  switch (value.kind_case()) {
    case Value::kNumberValue:
      seen.numbers.push_back(value.number_value());
      break;
    case Value::kBoolValue:
      ++seen.flags;
      break;
    case Value::kStringValue:
      if (value.string_value().empty()) {
        --seen.values;  // as good as none
        break;
      }
      ++seen.texts[value.string_value()];
      seen.words += static_cast<int>(
          std::count(value.string_value().begin(), value.string_value().end(), ' ') + 1);
      break;
    case Value::kListValue:
      TakeList(value.list_value(), seen);
      break;
    case Value::kNullValue:
      --seen.values;
      break;
    default:
      seen.mixed = true;
  }
}

// In the text format, where an escape may stand for any byte.
std::string QuotedLine(std::string_view text) { return OneLine(QuotedText(text)); }

// Whether a list of values may name it.
bool Listable(std::string_view text) {
  return text.size() <= kFeatureValueBytesMax && std::none_of(text.begin(), text.end(), IsControl);
}

std::string Vocabulary(const Seen& seen) {
  const bool listable = std::all_of(seen.texts.begin(), seen.texts.end(),
                                    [](const auto& text) { return Listable(text.first); });
  if (seen.texts.size() > kListedMax || !listable) {
    return absl::StrFormat("hash_bits: %d }  # %d different ones", kHashBits, seen.texts.size());
  }
  std::string text;
  for (const auto& [value, times] : seen.texts) {
    absl::StrAppend(&text, text.empty() ? "" : " ", "values: ", QuotedLine(value));
  }
  return text + " }";
}

std::optional<double> PeriodOf(const std::string& name, double low, double high) {
  const struct {
    std::string_view part;
    double period;
  } known[] = {{"hour", 24}, {"weekday", 7}, {"month", 12}, {"minute", 60}};
  for (const auto& one : known) {
    const bool fits = low >= 0 && high <= one.period;
    if (fits && name.find(one.part) != std::string::npos) return one.period;
  }
  return std::nullopt;
}

std::string Numeric(const std::string& name, std::vector<double> numbers) {
  std::erase_if(numbers, [](double number) { return !(std::abs(number) <= kBoundAbsMax); });
  if (numbers.empty()) return "";
  std::sort(numbers.begin(), numbers.end());
  if (const auto period = PeriodOf(name, numbers.front(), numbers.back())) {
    return absl::StrFormat("cyclic { period: %g }", *period);
  }
  const auto cut = static_cast<std::size_t>(kTail * static_cast<double>(numbers.size()));
  const double low = numbers[cut];
  const double high = numbers[numbers.size() - 1 - cut];
  if (!(low < high)) return "";
  const bool log = low > 0 && high / low >= kLogRatio;
  return absl::StrCat("numeric { low: ", JsonNumber(low), " high: ", JsonNumber(high),
                      log ? " log: true" : "", " }  # from ", JsonNumber(numbers.front()), " to ",
                      JsonNumber(numbers.back()), " in the examples");
}

// "" where nothing fits.
std::string Kind(const std::string& name, const Seen& seen) {
  const bool texts = !seen.texts.empty() && seen.lists == 0;
  const int kinds = (texts ? 1 : 0) + (seen.lists > 0 ? 1 : 0) + (seen.flags > 0 ? 1 : 0) +
                    (seen.numbers.empty() ? 0 : 1) + (seen.norms.empty() ? 0 : 1);
  if (seen.mixed || kinds != 1) return "";
  if (seen.flags > 0) return "boolean {}";
  if (!seen.numbers.empty()) return Numeric(name, seen.numbers);
  if (!seen.norms.empty()) {
    const double l2_max = *std::max_element(seen.norms.begin(), seen.norms.end());
    return absl::StrCat("vector { dimension: ", seen.length,
                        " l2_max: ", JsonNumber(l2_max > 0 ? l2_max : 1), " }");
  }
  if (seen.lists > 0) return "set { " + Vocabulary(seen);
  if (seen.words > kWordsOfText * seen.values) {
    return absl::StrFormat("text { hash_bits: %d }", kHashBits);
  }
  return "categorical { " + Vocabulary(seen);
}

using Fields = std::map<std::string, Seen>;

absl::Status TakePart(const Struct& example, const std::string& part, Fields& fields) {
  const auto object = example.fields().find(part);
  if (object == example.fields().end()) return absl::OkStatus();
  if (object->second.kind_case() != Value::kStructValue) {
    return InvalidArgument(part, ": must be an object, got ", ShowValue(FromProto(object->second)));
  }
  for (const auto& [name, value] : object->second.struct_value().fields()) {
    Take(value, fields[name]);
  }
  return absl::OkStatus();
}

// Why the schema would be refused; "": it would not.
std::string Mistake(const v1::FeatureSchema& schema) {
  std::string first;
  FeatureSchema::Make(FromProto(schema), 1, kDimensionMax,
                      [&](std::string_view, std::string message) {
                        if (first.empty()) first = std::move(message);
                      });
  return first;
}

// A line for each field. A field that would make `schema` invalid is left out; `schema` gets the
// others.
void Write(const std::string& part, const Fields& fields, v1::FeatureSchema& schema,
           std::string& text) {
  for (const auto& [name, seen] : fields) {
    const std::string kind = Kind(name, seen);
    // The comment, where there is one, comes after the closing brace.
    const std::size_t comment = kind.find("  #");
    const std::string field = absl::StrCat(part, " { name: ", QuotedLine(name), " ",
                                           absl::string_view(kind).substr(0, comment), " }");
    v1::FeatureSchema with = schema;
    google::protobuf::TextFormat::Parser parser;
    std::string why = "values of one kind that differ were not found";
    if (!kind.empty()) {
      why = parser.MergeFromString(field, &with) ? Mistake(with) : "cannot be written";
    }
    if (!why.empty()) {
      absl::StrAppend(&text, "  # ", part, " ", QuotedLine(name), ": ", OneLine(why),
                      ", left out\n");
      continue;
    }
    schema = std::move(with);
    absl::StrAppend(&text, "  ", field, comment == std::string::npos ? "" : kind.substr(comment),
                    "\n");
  }
}

}  // namespace

absl::StatusOr<std::string> FitFeatures(std::string_view jsonl) {
  Fields context;
  Fields arm;
  int examples = 0;
  BANDANA_ASSIGN_OR_RETURN(TextLines lines, TextLines::Of(jsonl));
  for (std::string_view text; lines.Next(text);) {
    if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
    Struct example;
    const auto parsed = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(text.data(), text.size()), &example);
    absl::Status taken;
    if (!parsed.ok()) taken = InvalidArgument("not a JSON object: ", parsed.ToString());
    if (taken.ok()) taken = TakePart(example, "context", context);
    if (taken.ok()) taken = TakePart(example, "arm", arm);
    if (!taken.ok()) return Annotate(taken, absl::StrCat("line ", lines.number()));
    ++examples;
  }
  if (context.empty() && arm.empty()) {
    return InvalidArgument(examples, " examples, none with values in `context` or `arm`");
  }
  std::string text = absl::StrCat(kHead, "# ", examples, " examples.\nfeatures {\n  bias: true\n");
  v1::FeatureSchema schema;
  schema.set_bias(true);
  Write("context", context, schema, text);
  Write("arm", arm, schema, text);
  absl::StrAppend(&text,
                  "  # What a context changes about an arm is a cross of the two:\n"
                  "  # crosses { a: \"CONTEXT FIELD\" b: \"ARM FIELD\" }\n}\n");
  return text;
}

}  // namespace bandana
