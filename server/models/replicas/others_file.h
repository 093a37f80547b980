// Which servers may have shown more of a model since this one last knew its whole log: a file of
// this machine, beside `published`. Layout: docs/formats/model_folder.md.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/instance_id.h"

namespace bandana::server {

// Durable on return. Errors: UNAVAILABLE I/O.
absl::Status WriteOthers(const std::string& folder, const InstanceId& instance,
                         const std::vector<std::string>& names);
// Nothing where there is no file: one of a version before wrote none. Errors: DATA_LOSS damaged, or
// of another instance; UNAVAILABLE I/O.
absl::StatusOr<std::vector<std::string>> ReadOthers(const std::string& folder,
                                                    const InstanceId& instance);

}  // namespace bandana::server
