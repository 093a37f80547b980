#include "server/service/context_json.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/decisions/json_parts.h"

namespace bandana::server {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

bool AppendValue(const Value& value, std::string& out);

bool AppendObject(const Struct& object, std::string& out) {
  using Member = google::protobuf::Map<std::string, Value>::value_type;
  std::vector<const Member*> members;
  members.reserve(object.fields().size());
  for (const Member& member : object.fields()) members.push_back(&member);
  std::ranges::sort(members, {},
                    [](const Member* member) { return std::string_view(member->first); });
  out += '{';
  for (const Member* const member : members) {
    if (member != members.front()) out += ',';
    json_parts::AppendText(member->first, out);
    out += ':';
    if (!AppendValue(member->second, out)) return false;
  }
  out += '}';
  return true;
}

bool AppendList(const google::protobuf::ListValue& list, std::string& out) {
  out += '[';
  for (int i = 0; i < list.values_size(); ++i) {
    if (i > 0) out += ',';
    if (!AppendValue(list.values(i), out)) return false;
  }
  out += ']';
  return true;
}

bool AppendValue(const Value& value, std::string& out) {
  switch (value.kind_case()) {
    case Value::kNumberValue:
      if (!std::isfinite(value.number_value())) return false;
      json_parts::AppendNumber(value.number_value(), out);
      return true;
    case Value::kStringValue:
      json_parts::AppendText(value.string_value(), out);
      return true;
    case Value::kBoolValue:
      out += value.bool_value() ? "true" : "false";
      return true;
    case Value::kStructValue:
      return AppendObject(value.struct_value(), out);
    case Value::kListValue:
      return AppendList(value.list_value(), out);
    case Value::kNullValue:
    case Value::KIND_NOT_SET:
      break;
  }
  out += "null";
  return true;
}

}  // namespace

void AppendContext(const Struct& context, std::string& out) {
  const std::size_t before = out.size();
  if (!AppendObject(context, out)) out.resize(before);
}

}  // namespace bandana::server
