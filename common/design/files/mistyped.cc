#include "common/design/files/mistyped.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "bandana/v1/config.pb.h"
#include "common/base/near_word.h"

namespace bandana {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// The words in quotes, in order.
std::vector<std::string> Quoted(std::string_view message) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t open = message.find('"');
    if (open == std::string_view::npos) return words;
    message.remove_prefix(open + 1);
    const std::size_t close = message.find('"');
    if (close == std::string_view::npos) return words;
    words.emplace_back(message.substr(0, close));
    message.remove_prefix(close + 1);
  }
}

std::vector<std::string_view> FieldsOf(const Descriptor& type) {
  std::vector<std::string_view> names;
  for (int i = 0; i < type.field_count(); ++i) names.emplace_back(type.field(i)->name());
  return names;
}

// Values of all enumerations that a field of this name has, in the message and below it.
void AddValues(const Descriptor& type, std::string_view field_name,
               std::set<const Descriptor*>& seen, std::set<const EnumDescriptor*>& kinds,
               std::vector<std::string_view>& values) {
  if (!seen.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.message_type() != nullptr) {
      AddValues(*field.message_type(), field_name, seen, kinds, values);
    }
    const EnumDescriptor* const kind = field.enum_type();
    if (kind == nullptr || field.name() != field_name || !kinds.insert(kind).second) continue;
    for (int v = 0; v < kind->value_count(); ++v) {
      if (kind->value(v)->number() != 0) values.emplace_back(kind->value(v)->name());
    }
  }
}

// The word that the message is about, and those that it could be.
std::optional<std::pair<std::string, std::vector<std::string_view>>> Alternatives(
    std::string_view message) {
  const std::vector<std::string> words = Quoted(message);
  if (words.size() != 2) return std::nullopt;
  if (message.starts_with("Message type ") &&
      message.find(" has no field named ") != message.npos) {
    const Descriptor* const type =
        google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(words[0]);
    if (type == nullptr) return std::nullopt;
    return std::pair(words[1], FieldsOf(*type));
  }
  if (message.starts_with("Unknown enumeration value of ")) {
    std::vector<std::string_view> values;
    std::set<const Descriptor*> seen;
    std::set<const EnumDescriptor*> kinds;
    AddValues(*v1::ServerConfig::descriptor(), words[1], seen, kinds, values);
    return std::pair(words[0], std::move(values));
  }
  return std::nullopt;
}

}  // namespace

std::string WithHint(const std::string& message) {
  const auto alternatives = Alternatives(message);
  if (!alternatives) return message;
  const std::string hint = DidYouMean(alternatives->first, alternatives->second);
  if (hint.empty()) return message;
  return message.substr(0, message.find_last_not_of(". ") + 1) + hint;
}

}  // namespace bandana
