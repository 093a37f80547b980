#include "tests/support/read_by_reflection.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/wire_reader.h"
#include "google/protobuf/unknown_field_set.h"

namespace bandana::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

bool Read(std::string_view bytes, int depth, Message& message);

template <typename Value>
std::vector<Value> ListOf(WireReader& in, void (WireReader::*read)(std::vector<Value>&)) {
  std::vector<Value> values;
  (in.*read)(values);
  return values;
}

void ReadList(const FieldDescriptor& field, WireReader& in, Message& message) {
  const Reflection& set = *message.GetReflection();
  switch (field.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      for (const double v : ListOf(in, &WireReader::Reals)) set.AddDouble(&message, &field, v);
      return;
    case FieldDescriptor::TYPE_FLOAT:
      for (const float v : ListOf(in, &WireReader::Floats)) set.AddFloat(&message, &field, v);
      return;
    case FieldDescriptor::TYPE_FIXED32:
      for (const auto v : ListOf(in, &WireReader::Fixed)) set.AddUInt32(&message, &field, v);
      return;
    case FieldDescriptor::TYPE_UINT32:
      for (const auto v : ListOf<std::uint32_t>(in, &WireReader::Numbers)) {
        set.AddUInt32(&message, &field, v);
      }
      return;
    case FieldDescriptor::TYPE_UINT64:
      for (const auto v : ListOf<std::uint64_t>(in, &WireReader::Numbers)) {
        set.AddUInt64(&message, &field, v);
      }
      return;
    default:
      if (!in.Message()) return;
      std::string bytes;
      if (field.type() == FieldDescriptor::TYPE_STRING) {
        in.Text(bytes);
      } else {
        BANDANA_CHECK(field.type() == FieldDescriptor::TYPE_BYTES);
        in.Bytes(bytes);
      }
      set.AddString(&message, &field, bytes);
  }
}

// Whether the value is a number: it is then put in place of either of two others.
bool IsVarint(const WireReader& in) {
  std::uint64_t zero = 0, one = 1;
  in.Number(zero);
  in.Number(one);
  return zero == one;
}

void ReadOne(const FieldDescriptor& field, WireReader& in, Message& message) {
  const Reflection& set = *message.GetReflection();
  std::optional<double> real;
  in.Real(real);
  switch (field.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      if (real) set.SetDouble(&message, &field, *real);
      return;
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES: {
      if (!in.Message()) return;
      std::string text;
      field.type() == FieldDescriptor::TYPE_STRING ? in.Text(text) : in.Bytes(text);
      return set.SetString(&message, &field, text);
    }
    default:
      break;
  }
  std::uint64_t number = 0;
  if (!IsVarint(in)) return;
  switch (field.type()) {
    case FieldDescriptor::TYPE_UINT64:
      in.Number(number);
      return set.SetUInt64(&message, &field, number);
    case FieldDescriptor::TYPE_INT64: {
      std::int64_t value = 0;
      in.Number(value);
      return set.SetInt64(&message, &field, value);
    }
    case FieldDescriptor::TYPE_UINT32: {
      std::uint32_t value = 0;
      in.Number(value);
      return set.SetUInt32(&message, &field, value);
    }
    case FieldDescriptor::TYPE_INT32: {
      std::int32_t value = 0;
      in.Number(value);
      return set.SetInt32(&message, &field, value);
    }
    case FieldDescriptor::TYPE_ENUM: {
      std::int32_t value = 0;
      in.Number(value);
      return set.SetEnumValue(&message, &field, value);
    }
    case FieldDescriptor::TYPE_BOOL: {
      bool value = false;
      in.Flag(value);
      return set.SetBool(&message, &field, value);
    }
    default:
      BANDANA_CHECK(false);
  }
}

bool Read(std::string_view bytes, int depth, Message& message) {
  WireReader in(bytes);
  while (in.Next()) {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByNumber(in.field());
    if (field == nullptr) continue;
    if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
      const auto inner = in.Message();
      if (!inner) continue;
      Message* const merged = field->is_repeated()
                                  ? message.GetReflection()->AddMessage(&message, field)
                                  : message.GetReflection()->MutableMessage(&message, field);
      if (depth == 0 || !Read(*inner, depth - 1, *merged)) in.Fail();
    } else if (field->is_repeated()) {
      ReadList(*field, in, message);
    } else {
      ReadOne(*field, in, message);
    }
  }
  return in.ok();
}

bool HoldsGroup(const UnknownFieldSet& fields) {
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).type() == UnknownField::TYPE_GROUP) return true;
  }
  return false;
}

bool HoldsGroup(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  if (HoldsGroup(reflection.GetUnknownFields(message))) return true;
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (HoldsGroup(reflection.GetMessage(message, field))) return true;
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (HoldsGroup(reflection.GetRepeatedMessage(message, field, i))) return true;
    }
  }
  return false;
}

}  // namespace

bool ReadByReflection(std::string_view bytes, Message& message) {
  return Read(bytes, 100, message);
}

bool AgreesWithProtobuf(std::string_view bytes, const Message& message) {
  const std::unique_ptr<Message> expected(message.New());
  const std::unique_ptr<Message> read(message.New());
  const bool parsed = expected->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (ReadByReflection(bytes, *read)) {
    expected->DiscardUnknownFields();
    return parsed && read->SerializeAsString() == expected->SerializeAsString();
  }
  return !parsed || HoldsGroup(*expected);
}

}  // namespace bandana::testing
