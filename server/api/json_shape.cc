#include "server/api/json_shape.h"

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "common/base/check.h"

namespace bandana::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr std::pair<std::string_view, JsonKind> kKnownTypes[] = {
    {"google.protobuf.Struct", JsonKind::kStruct},
    {"google.protobuf.Duration", JsonKind::kDuration},
    {"google.protobuf.Timestamp", JsonKind::kTimestamp},
    {"google.protobuf.FieldMask", JsonKind::kFieldMask},
};

JsonKind KindOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return JsonKind::kDouble;
    case FieldDescriptor::CPPTYPE_FLOAT:
      return JsonKind::kFloat;
    case FieldDescriptor::CPPTYPE_INT32:
      return JsonKind::kInt32;
    case FieldDescriptor::CPPTYPE_INT64:
      return JsonKind::kInt64;
    case FieldDescriptor::CPPTYPE_UINT32:
      return JsonKind::kUint32;
    case FieldDescriptor::CPPTYPE_UINT64:
      return JsonKind::kUint64;
    case FieldDescriptor::CPPTYPE_BOOL:
      return JsonKind::kBool;
    case FieldDescriptor::CPPTYPE_ENUM:
      return JsonKind::kEnum;
    case FieldDescriptor::CPPTYPE_STRING:
      return field.type() == FieldDescriptor::TYPE_BYTES ? JsonKind::kBytes : JsonKind::kString;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  const std::string_view type = field.message_type()->full_name();
  for (const auto& [known, kind] : kKnownTypes) {
    if (type == known) return kind;
  }
  BANDANA_CHECK(!type.starts_with("google.protobuf."));
  BANDANA_CHECK(field.type() != FieldDescriptor::TYPE_GROUP);
  if (!field.is_map()) return JsonKind::kMessage;
  BANDANA_CHECK(field.message_type()->map_key()->type() == FieldDescriptor::TYPE_STRING);
  return JsonKind::kMap;
}

class Shapes {
 public:
  const JsonShape& Of(const Descriptor& type) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = shapes_.find(&type); found != shapes_.end()) return *found->second;
    }
    const std::lock_guard lock(mutex_);
    return Made(type);
  }

 private:
  // Requires the mutex.
  const JsonShape& Made(const Descriptor& type) {
    std::unique_ptr<JsonShape>& made = shapes_[&type];
    if (made != nullptr) return *made;
    made = std::make_unique<JsonShape>();  // a message may hold itself
    JsonShape& shape = *made;
    BANDANA_CHECK(type.oneof_decl_count() <= kJsonOneofsMax);
    shape.type = &type;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      JsonField one{.field = &field, .kind = KindOf(field)};
      one.is_list = field.is_repeated() && one.kind != JsonKind::kMap;
      if (field.containing_oneof() != nullptr) one.oneof = field.containing_oneof()->index();
      if (field.message_type() != nullptr && one.kind != JsonKind::kStruct) {
        one.shape = &Made(*field.message_type());
      }
      shape.fields.push_back(one);
    }
    for (const JsonField& one : shape.fields) {
      shape.names.emplace_back(one.field->json_name(), &one);
      if (one.field->name() != one.field->json_name()) {
        shape.names.emplace_back(one.field->name(), &one);
      }
    }
    return shape;
  }

  std::shared_mutex mutex_;
  std::map<const Descriptor*, std::unique_ptr<JsonShape>> shapes_;
};

}  // namespace

const JsonField* JsonShape::Find(std::string_view name) const {
  for (const auto& [known, field] : names) {
    if (known == name) return field;
  }
  return nullptr;
}

const JsonShape& JsonShapeOf(const Descriptor& type) {
  static Shapes* const shapes = new Shapes;  // calls may come while the process ends
  return shapes->Of(type);
}

}  // namespace bandana::server
