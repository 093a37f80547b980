#include "server/api/json_writer.h"

#include <simdjson.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/json/json_text.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/field_mask.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "nlohmann/json.hpp"
#include "server/api/json_scalars.h"
#include "server/api/json_shape.h"

namespace bandana::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Struct;
using google::protobuf::Value;

bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\' && c != '<' && c != '>';
}

class MessageWriter {
 public:
  std::string Take() { return std::move(out_); }
  bool ok() const { return ok_; }

  void Object(const Message& message, const JsonShape& shape) {
    const Reflection& reflection = *message.GetReflection();
    out_ += '{';
    bool first = true;
    for (const JsonField& field : shape.fields) {
      const bool there = field.field->is_repeated() ? reflection.FieldSize(message, field.field) > 0
                                                    : reflection.HasField(message, field.field);
      if (!there) continue;
      if (!first) out_ += ',';
      first = false;
      absl::StrAppend(&out_, "\"", field.field->json_name(), "\":");
      if (field.kind == JsonKind::kMap) {
        Map(message, field, reflection);
      } else if (field.is_list) {
        Elements(message, field, reflection);
      } else {
        Single(message, field, reflection);
      }
    }
    out_ += '}';
  }

  void Fields(const Struct& object) {
    out_ += '{';
    bool first = true;
    for (const auto& [name, value] : object.fields()) {
      if (!first) out_ += ',';
      first = false;
      Text(name);
      out_ += ':';
      Any(value);
    }
    out_ += '}';
  }

 private:
  void Single(const Message& message, const JsonField& field, const Reflection& reflection) {
    const FieldDescriptor* const from = field.field;
    std::string scratch;
    switch (field.kind) {
      case JsonKind::kDouble:
        return Number(reflection.GetDouble(message, from));
      case JsonKind::kFloat:
        return Number(reflection.GetFloat(message, from));
      case JsonKind::kInt32:
        return absl::StrAppend(&out_, reflection.GetInt32(message, from));
      case JsonKind::kInt64:
        return absl::StrAppend(&out_, "\"", reflection.GetInt64(message, from), "\"");
      case JsonKind::kUint32:
        return absl::StrAppend(&out_, reflection.GetUInt32(message, from));
      case JsonKind::kUint64:
        return absl::StrAppend(&out_, "\"", reflection.GetUInt64(message, from), "\"");
      case JsonKind::kBool:
        return Bool(reflection.GetBool(message, from));
      case JsonKind::kEnum:
        return Enum(*from, reflection.GetEnumValue(message, from));
      case JsonKind::kString:
        return Text(reflection.GetStringReference(message, from, &scratch));
      case JsonKind::kBytes:
        return Bytes(reflection.GetStringReference(message, from, &scratch));
      case JsonKind::kMessage:
      case JsonKind::kStruct:
      case JsonKind::kDuration:
      case JsonKind::kTimestamp:
      case JsonKind::kFieldMask:
        return Inner(reflection.GetMessage(message, from), field);
      case JsonKind::kMap:
        return Map(message, field, reflection);
    }
  }

  template <typename Get>
  void List(int size, const Get& write) {
    out_ += '[';
    for (int i = 0; i < size; ++i) {
      if (i > 0) out_ += ',';
      write(i);
    }
    out_ += ']';
  }

  void Elements(const Message& message, const JsonField& field, const Reflection& reflection) {
    const FieldDescriptor* const from = field.field;
    const int size = reflection.FieldSize(message, from);
    List(size, [&](int i) {
      std::string scratch;
      switch (field.kind) {
        case JsonKind::kDouble:
          return Number(reflection.GetRepeatedDouble(message, from, i));
        case JsonKind::kFloat:
          return Number(reflection.GetRepeatedFloat(message, from, i));
        case JsonKind::kInt32:
          return absl::StrAppend(&out_, reflection.GetRepeatedInt32(message, from, i));
        case JsonKind::kInt64:
          return absl::StrAppend(&out_, "\"", reflection.GetRepeatedInt64(message, from, i), "\"");
        case JsonKind::kUint32:
          return absl::StrAppend(&out_, reflection.GetRepeatedUInt32(message, from, i));
        case JsonKind::kUint64:
          return absl::StrAppend(&out_, "\"", reflection.GetRepeatedUInt64(message, from, i), "\"");
        case JsonKind::kBool:
          return Bool(reflection.GetRepeatedBool(message, from, i));
        case JsonKind::kEnum:
          return Enum(*from, reflection.GetRepeatedEnumValue(message, from, i));
        case JsonKind::kString:
          return Text(reflection.GetRepeatedStringReference(message, from, i, &scratch));
        case JsonKind::kBytes:
          return Bytes(reflection.GetRepeatedStringReference(message, from, i, &scratch));
        case JsonKind::kMessage:
        case JsonKind::kStruct:
        case JsonKind::kDuration:
        case JsonKind::kTimestamp:
        case JsonKind::kFieldMask:
        case JsonKind::kMap:
          return Inner(reflection.GetRepeatedMessage(message, from, i), field);
      }
    });
  }

  void Map(const Message& message, const JsonField& field, const Reflection& reflection) {
    const auto& [key, held] = std::tie(field.shape->fields[0], field.shape->fields[1]);
    out_ += '{';
    const int size = reflection.FieldSize(message, field.field);
    for (int i = 0; i < size; ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, field.field, i);
      const Reflection& parts = *entry.GetReflection();
      if (i > 0) out_ += ',';
      Single(entry, key, parts);
      out_ += ':';
      Single(entry, held, parts);
    }
    out_ += '}';
  }

  void Inner(const Message& message, const JsonField& field) {
    if (field.kind == JsonKind::kStruct) return Fields(static_cast<const Struct&>(message));
    if (field.kind == JsonKind::kMessage) return Object(message, *field.shape);
    const std::optional<std::string> text = InnerText(message, field.kind);
    ok_ = ok_ && text.has_value();
    if (text) Text(*text);
  }

  static std::optional<std::string> InnerText(const Message& message, JsonKind kind) {
    switch (kind) {
      case JsonKind::kDuration:
        return DurationText(static_cast<const google::protobuf::Duration&>(message));
      case JsonKind::kTimestamp:
        return TimestampText(static_cast<const google::protobuf::Timestamp&>(message));
      case JsonKind::kFieldMask:
        return FieldMaskText(static_cast<const google::protobuf::FieldMask&>(message));
      default:
        return std::nullopt;
    }
  }

  void Any(const Value& value) {
    switch (value.kind_case()) {
      case Value::kNumberValue:
        ok_ = ok_ && std::isfinite(value.number_value());
        return Number(value.number_value());
      case Value::kStringValue:
        return Text(value.string_value());
      case Value::kBoolValue:
        return Bool(value.bool_value());
      case Value::kStructValue:
        return Fields(value.struct_value());
      case Value::kListValue: {
        const auto& values = value.list_value().values();
        return List(values.size(), [&](int i) { Any(values[i]); });
      }
      case Value::kNullValue:
      case Value::KIND_NOT_SET:
        out_ += "null";
    }
  }

  template <typename T>
  void Number(T value) {
    if (std::isnan(value)) {
      out_ += "\"NaN\"";
    } else if (std::isinf(value)) {
      out_ += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    } else if (value == 0 && std::signbit(value)) {
      out_ += "-0.0";  // readers take -0 for a whole number, which has no sign
    } else {
      std::array<char, 32> digits;
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
      out_.append(digits.data(), end.ptr);
    }
  }

  void Bool(bool value) { out_ += value ? "true" : "false"; }

  void Enum(const FieldDescriptor& field, int number) {
    const auto* const value = field.enum_type()->FindValueByNumber(number);
    if (value == nullptr) return absl::StrAppend(&out_, number);
    absl::StrAppend(&out_, "\"", value->name(), "\"");
  }

  void Bytes(const std::string& bytes) {
    absl::StrAppend(&out_, "\"", absl::Base64Escape(bytes), "\"");
  }

  void Text(const std::string& text) {
    if (!simdjson::validate_utf8(text)) {
      out_ += JsonText(nlohmann::json(text));
      return;
    }
    out_ += '"';
    for (const char c : text) {
      if (IsPlain(c) || static_cast<unsigned char>(c) >= 0x80) {
        out_ += c;
      } else if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else {
        constexpr std::string_view kHex = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        absl::StrAppend(&out_, "\\u00", ToAbsl(kHex.substr(byte >> 4, 1)),
                        ToAbsl(kHex.substr(byte & 15, 1)));
      }
    }
    out_ += '"';
  }

  std::string out_;
  bool ok_ = true;
};

}  // namespace

absl::StatusOr<std::string> ToJson(const Message& message) {
  MessageWriter writer;
  if (message.GetDescriptor() == Struct::descriptor()) {
    writer.Fields(static_cast<const Struct&>(message));
  } else {
    writer.Object(message, JsonShapeOf(*message.GetDescriptor()));
  }
  if (!writer.ok()) return Internal("the answer cannot be written as JSON");
  return writer.Take();
}

}  // namespace bandana::server
