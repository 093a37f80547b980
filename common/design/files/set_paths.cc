#include "common/design/files/set_paths.h"

#include "google/protobuf/descriptor.h"

namespace bandana {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void AddPaths(const Message& message, const std::string& prefix, std::vector<std::string>& paths) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  fields.ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    const std::string path = prefix + field->name();
    const bool single =
        !field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    // An empty message (`shared {}`) is a value of its own, and so is a duration.
    if (single && field->message_type()->file()->package() == "bandana.v1" &&
        fields.GetMessage(message, field).ByteSizeLong() > 0) {
      AddPaths(fields.GetMessage(message, field), path + ".", paths);
    } else {
      paths.push_back(path);
    }
  }
}

}  // namespace

std::vector<std::string> SetPaths(const Message& message) {
  std::vector<std::string> paths;
  AddPaths(message, "", paths);
  return paths;
}

}  // namespace bandana
