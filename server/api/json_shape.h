// How the fields of a message stand in JSON, looked up once per type of message.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string_view>
#include <utility>
#include <vector>

namespace bandana::server {

enum class JsonKind {
  kDouble,
  kFloat,
  kInt32,
  kInt64,
  kUint32,
  kUint64,
  kBool,
  kEnum,
  kString,
  kBytes,
  kMessage,
  kMap,
  // Google's types that have a JSON of their own.
  kStruct,     // any object
  kDuration,   // "1.5s"
  kTimestamp,  // "2026-11-27T09:00:00Z"
  kFieldMask,  // "alpha,rewardMax"
};

struct JsonShape;

struct JsonField {
  const google::protobuf::FieldDescriptor* field = nullptr;
  JsonKind kind = JsonKind::kMessage;
  bool is_list = false;              // maps are none
  int oneof = -1;                    // which of its message; -1: none
  const JsonShape* shape = nullptr;  // of messages other than Struct; of a map's entries
};

// Fields of one oneof exclude each other; `optional` ones are such, each alone.
inline constexpr int kJsonOneofsMax = 8;

// Threads: immutable.
struct JsonShape {
  const google::protobuf::Descriptor* type = nullptr;
  std::vector<JsonField> fields;
  std::vector<std::pair<std::string_view, const JsonField*>> names;  // both spellings

  // The field of this name, as in JSON (topK) or as in the proto (top_k); null: there is none.
  const JsonField* Find(std::string_view name) const;
};

// Lives as long as the process. Aborts the program at a field whose JSON nobody here knows: a
// group, a map by other keys than texts, or one of Google's types that are not above. Threads:
// safe.
const JsonShape& JsonShapeOf(const google::protobuf::Descriptor& type);

}  // namespace bandana::server
