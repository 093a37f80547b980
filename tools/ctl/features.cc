#include "tools/ctl/features.h"

#include <google/protobuf/util/json_util.h>

#include <cstddef>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/wire_messages.h"
#include "common/features/encoder.h"

namespace bandana {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// The member of this name; an empty object where there is none.
absl::StatusOr<Struct> ObjectIn(const Struct& from, const std::string& name,
                                const std::string& path) {
  const auto member = from.fields().find(name);
  if (member == from.fields().end()) return Struct();
  if (member->second.kind_case() == Value::kStructValue) return member->second.struct_value();
  return InvalidArgument(path, ": must be an object, got ", ShowValue(FromProto(member->second)));
}

std::string EntriesText(const FeatureSchema& schema, std::span<const double> x) {
  std::string text;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0) continue;
    absl::StrAppendFormat(&text, "  %5d  %-40s % .6f\n", i, schema.EntryName(static_cast<int>(i)),
                          x[i]);
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> ExplainFeatures(const FeatureSchema& schema, std::string_view json) {
  Struct example;
  BANDANA_ASSIGN_OR_RETURN(json, PlainText(json));
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &example);
  if (!parsed.ok()) return InvalidArgument("not a JSON object: ", parsed.ToString());
  const auto arms = example.fields().find("arms");
  if (arms == example.fields().end() || arms->second.list_value().values().empty()) {
    return InvalidArgument("arms: must be a list of at least one arm");
  }
  ValueLog log;
  log.Begin(ValueRule::kOpen, schema.fields().size());
  BANDANA_ASSIGN_OR_RETURN(const Struct values, ObjectIn(example, "context", "context"));
  EncodedContext context;
  BANDANA_RETURN_IF_ERROR(
      EncodeContext(schema, FromProto(values), {.list = "context"}, log, context));
  std::string text =
      absl::StrFormat("dimension %d, every block times %.6f\n", schema.dimension(), schema.scale());
  const auto d = static_cast<std::size_t>(schema.dimension());
  std::vector<double> row(d);
  std::vector<double> x(d);
  for (int i = 0; i < arms->second.list_value().values_size(); ++i) {
    const std::string place = absl::StrCat("arms[", i, "]");
    const Value& arm = arms->second.list_value().values(i);
    if (arm.kind_case() != Value::kStructValue) {
      return InvalidArgument(place, ": must be an object, got ", ShowValue(FromProto(arm)));
    }
    BANDANA_ASSIGN_OR_RETURN(const Struct features,
                             ObjectIn(arm.struct_value(), "features", place + ".features"));
    const ValuePath path{.list = "arms", .index = i, .member = "features"};
    BANDANA_RETURN_IF_ERROR(EncodeArm(schema, FromProto(features), path, log, row));
    Join(schema, context, row, x);
    const auto id = arm.struct_value().fields().find("id");
    absl::StrAppend(
        &text, place,
        id == arm.struct_value().fields().end() ? "" : " " + ShowValue(FromProto(id->second)), "\n",
        EntriesText(schema, x));
  }
  for (const std::string& note : log.notes()) absl::StrAppend(&text, "note: ", note, "\n");
  return text;
}

}  // namespace bandana
