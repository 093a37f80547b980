#include "tools/ctl/json.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"

namespace bandana {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (IsControl(c)) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// The shortest text that is read as this very number.
template <typename Float>
std::string Number(Float value) {
  if (!std::isfinite(value)) return "null";
  char buffer[32];
  const bool whole = value == std::trunc(value) && std::abs(value) < Float(1e15);
  const auto end =
      whole ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed)
            : std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

std::string Object(const Message& message, int indent);

bool IsDuration(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type() == google::protobuf::Duration::descriptor();
}

std::string Seconds(const Message& duration) {
  const Descriptor& type = *duration.GetDescriptor();
  const Reflection& reflection = *duration.GetReflection();
  return Number(
      static_cast<double>(reflection.GetInt64(duration, type.FindFieldByName("seconds"))) +
      1e-9 * reflection.GetInt32(duration, type.FindFieldByName("nanos")));
}

std::string MessageValue(const FieldDescriptor& field, const Message& value, int indent) {
  return IsDuration(field) ? Seconds(value) : Object(value, indent);
}

std::string TextValue(const FieldDescriptor& field, const std::string& value) {
  return Quoted(field.type() == FieldDescriptor::TYPE_BYTES ? ToHex(AsBytes(value)) : value);
}

// One value of a field; index -1 for a singular one.
std::string Value(const Message& message, const FieldDescriptor& field, int index, int indent) {
  const Reflection& r = *message.GetReflection();
  const bool many = index >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(many ? r.GetRepeatedInt32(message, &field, index)
                               : r.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(many ? r.GetRepeatedInt64(message, &field, index)
                               : r.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(many ? r.GetRepeatedUInt32(message, &field, index)
                               : r.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(many ? r.GetRepeatedUInt64(message, &field, index)
                               : r.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Number(many ? r.GetRepeatedDouble(message, &field, index)
                         : r.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Number(many ? r.GetRepeatedFloat(message, &field, index)
                         : r.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return (many ? r.GetRepeatedBool(message, &field, index) : r.GetBool(message, &field))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return Quoted(
          (many ? r.GetRepeatedEnum(message, &field, index) : r.GetEnum(message, &field))->name());
    case FieldDescriptor::CPPTYPE_STRING:
      return TextValue(
          field, many ? r.GetRepeatedString(message, &field, index) : r.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageValue(
          field,
          many ? r.GetRepeatedMessage(message, &field, index) : r.GetMessage(message, &field),
          indent);
  }
  return "null";
}

std::string Bracketed(char open, char close, const std::string& items, int indent) {
  if (items.empty()) return {open, close};
  return absl::StrCat(std::string(1, open), "\n", items, "\n", std::string(indent, ' '),
                      std::string(1, close));
}

void Append(std::string& items, int indent, const std::string& item) {
  absl::StrAppend(&items, items.empty() ? "" : ",\n", std::string(indent, ' '), item);
}

std::string List(const Message& message, const FieldDescriptor& field, int indent) {
  const Reflection& reflection = *message.GetReflection();
  std::string items;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (!field.is_map()) {
      Append(items, indent + 2, Value(message, field, i, indent + 2));
      continue;
    }
    const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
    const std::string key = Value(entry, *field.message_type()->map_key(), -1, 0);
    Append(items, indent + 2,
           absl::StrCat(key.starts_with('"') ? key : Quoted(key), ": ",
                        Value(entry, *field.message_type()->map_value(), -1, indent + 2)));
  }
  return field.is_map() ? Bracketed('{', '}', items, indent) : Bracketed('[', ']', items, indent);
}

std::string Object(const Message& message, int indent) {
  const Descriptor& type = *message.GetDescriptor();
  std::string items;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.has_presence() && !message.GetReflection()->HasField(message, &field)) continue;
    const std::string value = field.is_repeated() ? List(message, field, indent + 2)
                                                  : Value(message, field, -1, indent + 2);
    const std::string name = absl::StrCat(field.name(), IsDuration(field) ? "_seconds" : "");
    Append(items, indent + 2, absl::StrCat(Quoted(name), ": ", value));
  }
  return Bracketed('{', '}', items, indent);
}

}  // namespace

std::string ToJson(const Message& message) { return Object(message, 0) + "\n"; }

std::string JsonNumber(double value) { return Number(value); }

std::string JsonText(std::string_view text) { return Quoted(text); }

}  // namespace bandana
