#include "server/api/json_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/field_mask.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "server/api/json_scalars.h"
#include "server/api/json_shape.h"

namespace bandana::server {
namespace {

namespace dom = simdjson::dom;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Struct;
using google::protobuf::Value;
using Type = dom::element_type;

// Where the reader is. Names and positions become a path when there is something to say.
struct Place {
  const Place* above = nullptr;
  std::string_view name;  // empty: the position counts
  std::size_t position = 0;
  int depth = 0;  // of objects and lists around it
};

std::string PathOf(const Place* place, std::string_view behind) {
  std::string path(behind);
  for (; place != nullptr && place->above != nullptr; place = place->above) {
    const bool joins = !path.empty() && !path.starts_with('[');
    const std::string one =
        place->name.empty() ? absl::StrCat("[", place->position, "]") : std::string(place->name);
    path = absl::StrCat(one, joins ? "." : "", path);
  }
  return path.empty() ? "request" : path;
}

template <typename T>
std::optional<T> WholeIn(const dom::element& value) {
  switch (value.type()) {
    case Type::INT64: {
      const std::int64_t whole = value.get_int64().value_unsafe();
      if (!std::in_range<T>(whole)) return std::nullopt;
      return static_cast<T>(whole);
    }
    case Type::UINT64: {
      const std::uint64_t whole = value.get_uint64().value_unsafe();
      if (!std::in_range<T>(whole)) return std::nullopt;
      return static_cast<T>(whole);
    }
    case Type::DOUBLE:
      return WholeOf<T>(value.get_double().value_unsafe());
    case Type::STRING:
      return WholeOf<T>(value.get_string().value_unsafe());
    default:
      return std::nullopt;
  }
}

std::optional<double> NumberIn(const dom::element& value) {
  if (value.is<double>()) return value.get_double().value_unsafe();  // of whole ones as well
  return std::nullopt;
}

std::optional<double> DoubleIn(const dom::element& value) {
  if (value.is_string()) return DoubleOf(value.get_string().value_unsafe());
  return NumberIn(value);
}

std::optional<float> FloatIn(const dom::element& value) {
  if (value.is_string()) return FloatOf(value.get_string().value_unsafe());
  const std::optional<double> number = NumberIn(value);
  return number ? FloatOf(*number) : std::nullopt;
}

std::optional<bool> BoolIn(const dom::element& value) {
  if (value.is_bool()) return value.get_bool().value_unsafe();
  return value.is_string() ? BoolOf(value.get_string().value_unsafe()) : std::nullopt;
}

std::optional<int> EnumIn(const dom::element& value, const FieldDescriptor& field) {
  if (!value.is_string()) return WholeIn<std::int32_t>(value);
  const std::string name(value.get_string().value_unsafe());
  if (const auto* const known = field.enum_type()->FindValueByName(name)) return known->number();
  const std::optional<std::int32_t> number = WholeOf<std::int32_t>(name);
  if (number && field.enum_type()->FindValueByNumber(*number) != nullptr) return number;
  return std::nullopt;
}

std::optional<std::string> TextIn(const dom::element& value) {
  if (!value.is_string()) return std::nullopt;
  return std::string(value.get_string().value_unsafe());
}

std::optional<std::string> BytesIn(const dom::element& value) {
  return value.is_string() ? BytesOf(value.get_string().value_unsafe()) : std::nullopt;
}

class MessageReader {
 public:
  explicit MessageReader(int depth_max) : depth_max_(depth_max) {}

  absl::Status Read(const dom::element& root, Message& message) {
    const Place top{.above = nullptr, .name = "", .depth = 1};
    if (!root.is_object()) return InvalidArgument("request: must be an object");
    (void)Object(root.get_object().value_unsafe(), JsonShapeOf(*message.GetDescriptor()), top,
                 message);
    return status_;
  }

  absl::Status ReadStruct(const dom::element& root, Struct& out) {
    const Place top{.above = nullptr, .name = "", .depth = 1};
    if (!root.is_object()) return InvalidArgument("request: must be an object");
    (void)Fields(root.get_object().value_unsafe(), top, out);
    return status_;
  }

 private:
  using Taken = std::array<const FieldDescriptor*, kJsonOneofsMax>;

  // All that reads returns whether it went well; false: the status says why not.
  template <typename... Parts>
  bool Fail(const Place& place, std::string_view behind, const Parts&... parts) {
    status_ = InvalidArgument(PathOf(&place, behind), parts...);
    return false;
  }
  bool Unfit(const Place& place, std::string_view type) {
    return Fail(place, "", ": the value does not fit the field", type.empty() ? "" : ", of type ",
                ToAbsl(type));
  }
  bool TooDeep(const Place& place) {
    if (place.depth <= depth_max_) return false;
    (void)Fail(place, "", ": more than ", depth_max_, " objects and lists inside each other");
    return true;
  }

  bool Object(const dom::object& object, const JsonShape& shape, const Place& place, Message& out) {
    if (TooDeep(place)) return false;
    Taken taken{};
    const Reflection& reflection = *out.GetReflection();
    for (const auto& [name, value] : object) {
      const JsonField* const field = shape.Find(name);
      if (field == nullptr) return NoSuchField(place, name);
      if (value.is_null()) continue;
      const Place there{.above = &place, .name = field->field->name(), .depth = place.depth + 1};
      if (field->oneof >= 0 && !Take(*field, there, taken[field->oneof])) return false;
      const bool read = field->is_list ? Elements(value, *field, there, reflection, out)
                                       : Single(value, *field, there, reflection, out);
      if (!read) return false;
    }
    return true;
  }

  bool NoSuchField(const Place& place, std::string_view name) {
    const bool printable =
        !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                 std::string_view("_.[]-").find(c) != std::string_view::npos;
        });
    if (printable) return Fail(place, name, ": there is no such field");
    return Fail(place, "", ": has a field that there is not");
  }

  bool Take(const JsonField& field, const Place& place, const FieldDescriptor*& taken) {
    if (taken == nullptr) {
      taken = field.field;
      return true;
    }
    if (taken == field.field) return Fail(place, "", ": stands there twice");
    return Fail(place, "", ": excludes ", taken->name(), ", which stands there as well");
  }

  bool Single(const dom::element& value, const JsonField& field, const Place& place,
              const Reflection& reflection, Message& out) {
    const FieldDescriptor* const to = field.field;
    const auto set = [&](const auto& read, auto setter) {
      if (!read) return Unfit(place, to->type_name());
      (reflection.*setter)(&out, to, *read);
      return true;
    };
    if (value.is_array()) return Fail(place, "", ": is a list, where one value is wanted");
    switch (field.kind) {
      case JsonKind::kMap:
        return Map(value, field, place, reflection, out);
      case JsonKind::kDouble:
        return set(DoubleIn(value), &Reflection::SetDouble);
      case JsonKind::kFloat:
        return set(FloatIn(value), &Reflection::SetFloat);
      case JsonKind::kInt32:
        return set(WholeIn<std::int32_t>(value), &Reflection::SetInt32);
      case JsonKind::kInt64:
        return set(WholeIn<std::int64_t>(value), &Reflection::SetInt64);
      case JsonKind::kUint32:
        return set(WholeIn<std::uint32_t>(value), &Reflection::SetUInt32);
      case JsonKind::kUint64:
        return set(WholeIn<std::uint64_t>(value), &Reflection::SetUInt64);
      case JsonKind::kBool:
        return set(BoolIn(value), &Reflection::SetBool);
      case JsonKind::kEnum: {
        const std::optional<int> number = EnumIn(value, *to);
        if (!number) return Unfit(place, "");
        reflection.SetEnumValue(&out, to, *number);
        return true;
      }
      case JsonKind::kString:
        return set(TextIn(value), &Reflection::SetString);
      case JsonKind::kBytes:
        return set(BytesIn(value), &Reflection::SetString);
      case JsonKind::kMessage:
      case JsonKind::kStruct:
      case JsonKind::kDuration:
      case JsonKind::kTimestamp:
      case JsonKind::kFieldMask:
        return Inner(value, field, place, *reflection.MutableMessage(&out, to));
    }
    return false;
  }

  // A value that is none stands for a list of one.
  bool Elements(const dom::element& value, const JsonField& field, const Place& place,
                const Reflection& reflection, Message& out) {
    if (!value.is_array()) return Element(value, field, place, reflection, out);
    if (TooDeep(place)) return false;
    Place there{.above = &place, .name = "", .depth = place.depth + 1};
    const dom::array array = value.get_array().value_unsafe();
    for (const dom::element& one : array) {
      if (!one.is_null() && !Elements(one, field, there, reflection, out)) return false;
      ++there.position;
    }
    return true;
  }

  bool Element(const dom::element& value, const JsonField& field, const Place& place,
               const Reflection& reflection, Message& out) {
    const FieldDescriptor* const to = field.field;
    const auto add = [&](const auto& read, auto adder) {
      if (!read) return Unfit(place, to->type_name());
      (reflection.*adder)(&out, to, *read);
      return true;
    };
    switch (field.kind) {
      case JsonKind::kDouble:
        return add(DoubleIn(value), &Reflection::AddDouble);
      case JsonKind::kFloat:
        return add(FloatIn(value), &Reflection::AddFloat);
      case JsonKind::kInt32:
        return add(WholeIn<std::int32_t>(value), &Reflection::AddInt32);
      case JsonKind::kInt64:
        return add(WholeIn<std::int64_t>(value), &Reflection::AddInt64);
      case JsonKind::kUint32:
        return add(WholeIn<std::uint32_t>(value), &Reflection::AddUInt32);
      case JsonKind::kUint64:
        return add(WholeIn<std::uint64_t>(value), &Reflection::AddUInt64);
      case JsonKind::kBool:
        return add(BoolIn(value), &Reflection::AddBool);
      case JsonKind::kEnum: {
        const std::optional<int> number = EnumIn(value, *to);
        if (!number) return Unfit(place, "");
        reflection.AddEnumValue(&out, to, *number);
        return true;
      }
      case JsonKind::kString:
        return add(TextIn(value), &Reflection::AddString);
      case JsonKind::kBytes:
        return add(BytesIn(value), &Reflection::AddString);
      case JsonKind::kMessage:
      case JsonKind::kStruct:
      case JsonKind::kDuration:
      case JsonKind::kTimestamp:
      case JsonKind::kFieldMask:
        return Inner(value, field, place, *reflection.AddMessage(&out, to));
      case JsonKind::kMap:
        break;  // is no list
    }
    return false;
  }

  bool Map(const dom::element& value, const JsonField& field, const Place& place,
           const Reflection& reflection, Message& out) {
    if (!value.is_object()) return Unfit(place, "object");
    if (TooDeep(place)) return false;
    const auto& [key, held] = std::tie(field.shape->fields[0], field.shape->fields[1]);
    const Place there{.above = place.above,
                      .name = place.name,
                      .position = place.position,
                      .depth = place.depth + 1};
    absl::flat_hash_set<std::string_view> names;
    const dom::object object = value.get_object().value_unsafe();
    for (const auto& [name, inner] : object) {
      if (!names.insert(name).second) return Fail(place, "", ": has a key twice");
      Message& entry = *reflection.AddMessage(&out, field.field);
      const Reflection& parts = *entry.GetReflection();
      parts.SetString(&entry, key.field, std::string(name));
      if (!inner.is_null() && !Single(inner, held, there, parts, entry)) return false;
    }
    return true;
  }

  bool Inner(const dom::element& value, const JsonField& field, const Place& place, Message& out) {
    if (value.is_string() && InnerText(value.get_string().value_unsafe(), field.kind, out)) {
      return true;
    }
    if (!value.is_object()) return Unfit(place, WordFor(field.kind));
    const dom::object object = value.get_object().value_unsafe();
    if (field.kind == JsonKind::kStruct) return Fields(object, place, static_cast<Struct&>(out));
    return Object(object, *field.shape, place, out);
  }

  // For types that a text stands for. False: it does not.
  static bool InnerText(std::string_view text, JsonKind kind, Message& out) {
    switch (kind) {
      case JsonKind::kDuration:
        return ReadDuration(text, static_cast<google::protobuf::Duration&>(out));
      case JsonKind::kTimestamp:
        return ReadTimestamp(text, static_cast<google::protobuf::Timestamp&>(out));
      case JsonKind::kFieldMask:
        return ReadFieldMask(text, static_cast<google::protobuf::FieldMask&>(out));
      default:
        return false;
    }
  }
  static std::string_view WordFor(JsonKind kind) {
    if (kind == JsonKind::kDuration) return "duration, such as \"1.5s\"";
    if (kind == JsonKind::kTimestamp) return "time, such as \"2026-11-27T09:00:00Z\"";
    return kind == JsonKind::kFieldMask ? "text with names of fields" : "object";
  }

  bool Fields(const dom::object& object, const Place& place, Struct& out) {
    if (TooDeep(place)) return false;
    auto& fields = *out.mutable_fields();
    if (!fields.empty()) {  // the keys of one object alone must differ
      Struct own;
      if (!Fields(object, place, own)) return false;
      for (auto& [name, value] : *own.mutable_fields()) fields[name] = std::move(value);
      return true;
    }
    for (const auto& [name, value] : object) {
      const std::size_t before = fields.size();
      Value& to = fields[std::string(name)];
      if (fields.size() == before) return Fail(place, "", ": has a key twice");
      // No path names a key, which is the caller's own.
      if (!Any(value,
               {.above = place.above,
                .name = place.name,
                .position = place.position,
                .depth = place.depth + 1},
               to)) {
        return false;
      }
    }
    return true;
  }

  bool Any(const dom::element& value, const Place& place, Value& out) {
    switch (value.type()) {
      case Type::NULL_VALUE:
        out.set_null_value(google::protobuf::NULL_VALUE);
        return true;
      case Type::BOOL:
        out.set_bool_value(value.get_bool().value_unsafe());
        return true;
      case Type::STRING: {
        const std::string_view text = value.get_string().value_unsafe();
        out.set_string_value(text.data(), text.size());
        return true;
      }
      case Type::OBJECT:
        return Fields(value.get_object().value_unsafe(), place, *out.mutable_struct_value());
      case Type::ARRAY: {
        if (TooDeep(place)) return false;
        auto& values = *out.mutable_list_value()->mutable_values();
        const dom::array array = value.get_array().value_unsafe();
        values.Reserve(static_cast<int>(array.size()));
        Place there = place;
        ++there.depth;
        for (const dom::element& one : array) {
          if (!Any(one, there, *values.Add())) return false;
        }
        return true;
      }
      default:
        out.set_number_value(*NumberIn(value));
        return true;
    }
  }

  const int depth_max_;
  absl::Status status_;
};

// Whether one of the text's escapes is half a pair of UTF-16. simdjson 3.0 takes such halves.
// Requires that the text is JSON otherwise.
bool HasHalfPair(std::string_view text) {
  const auto unit = [&](std::size_t at) -> unsigned {  // of a \uXXXX; 0: there is none
    unsigned code = 0;
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return 0;
    const auto parsed = std::from_chars(&text[at + 2], text.data() + at + 6, code, 16);
    return parsed.ec == std::errc() ? code : 0;
  };
  for (std::size_t i = text.find('\\'); i != std::string_view::npos; i = text.find('\\', i)) {
    const unsigned code = unit(i);
    i += text[i + 1] == 'u' ? 6 : 2;
    if (code < 0xD800 || code > 0xDFFF) continue;
    const unsigned low = code < 0xDC00 ? unit(i) : 0;
    if (low < 0xDC00 || low > 0xDFFF) return true;
    i += 6;
  }
  return false;
}

// The text with a point behind whole numbers that no 64 bits hold, which simdjson 3.0 refuses.
std::string WithWideNumbers(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const bool is_number = !in_string && (text[i] == '-' || absl::ascii_isdigit(text[i]));
    std::size_t taken = 1;
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\') taken = std::min<std::size_t>(2, text.size() - i);
    if (is_number) taken = std::min(text.find_first_not_of("+-.0123456789eE", i), text.size()) - i;
    const std::string_view part = text.substr(i, taken);
    out += part;
    i += taken;
    if (!is_number || taken < 19 || part.find_first_of(".eE") != std::string_view::npos) continue;
    const bool fits = part[0] == '-' ? WholeOf<std::int64_t>(part).has_value()
                                     : WholeOf<std::uint64_t>(part).has_value();
    if (!fits) out += ".0";
  }
  return out;
}

// A thread keeps the memory that a text of this size takes.
constexpr std::size_t kKeptTextBytesMax = 256 * 1024;

absl::Status ReadBy(dom::parser& parser, std::string_view text, int depth_max, Message& message) {
  dom::element root;
  simdjson::error_code error = parser.parse(text.data(), text.size()).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    error = parser.parse(WithWideNumbers(text)).get(root);
  }
  if (error != simdjson::SUCCESS || HasHalfPair(text)) {
    return InvalidArgument("not JSON");
  }
  MessageReader reader(depth_max);
  if (message.GetDescriptor() == Struct::descriptor()) {
    return reader.ReadStruct(root, static_cast<Struct&>(message));
  }
  return reader.Read(root, message);
}

}  // namespace

absl::Status ReadJson(std::string_view text, int depth_max, Message& message) {
  if (text.size() > kKeptTextBytesMax) {
    dom::parser parser;
    return ReadBy(parser, text, depth_max, message);
  }
  static thread_local dom::parser parser;
  return ReadBy(parser, text, depth_max, message);
}

}  // namespace bandana::server
