#include "tools/audit/config_fields.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/str_join.h"
#include "common/base/status.h"

namespace bandana::audit {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void AddFields(const Descriptor& message, const std::string& prefix,
               std::vector<std::string>& fields) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const std::string path = prefix + std::string(field.name());
    const Descriptor* const inner = field.message_type();
    const bool ours = inner != nullptr && inner->file()->package() == "bandana.v1";
    if (ours && inner->field_count() > 0) {
      AddFields(*inner, path + ".", fields);
    } else {
      fields.push_back(path);
    }
  }
}

}  // namespace

std::vector<std::string> FieldsOf(const Descriptor& message) {
  std::vector<std::string> fields;
  AddFields(message, "", fields);
  return fields;
}

absl::Status CheckCovered(std::string_view table, const Descriptor& message,
                          std::span<const std::string> rows) {
  const std::vector<std::string> list = FieldsOf(message);
  const std::set<std::string> fields(list.begin(), list.end());
  const std::set<std::string> covered(rows.begin(), rows.end());
  std::vector<std::string> wrong;
  std::set_symmetric_difference(fields.begin(), fields.end(), covered.begin(), covered.end(),
                                std::back_inserter(wrong));
  if (wrong.empty()) return absl::OkStatus();
  return Internal(ToAbsl(table), " and ", message.name(), " disagree about ",
                  absl::StrJoin(wrong, ", "));
}

}  // namespace bandana::audit
