#include "server/service/admin/config_update.h"

#include <google/protobuf/util/field_mask_util.h>

#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/design/files/set_paths.h"

namespace bandana::server {

using google::protobuf::util::FieldMaskUtil;

absl::StatusOr<v1::ModelConfig> UpdatedConfig(const v1::ModelConfig& current,
                                              const v1::UpdateModelRequest& request) {
  v1::ModelConfig given = request.config();
  given.clear_name();
  google::protobuf::FieldMask mask = request.update_mask();
  if (mask.paths().empty()) {
    for (std::string& path : SetPaths(given)) mask.add_paths(std::move(path));
  }
  for (const std::string& path : mask.paths()) {
    if (path == "name") return InvalidArgument("update_mask: a model keeps its name");
    if (!FieldMaskUtil::IsValidPath<v1::ModelConfig>(path)) {
      return InvalidArgument("update_mask: `", path, "` is no field of ModelConfig");
    }
  }
  v1::ModelConfig updated = current;
  FieldMaskUtil::MergeOptions options;
  options.set_replace_message_fields(true);
  options.set_replace_repeated_fields(true);
  FieldMaskUtil::MergeMessageTo(given, mask, options, &updated);
  return updated;
}

}  // namespace bandana::server
