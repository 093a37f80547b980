// Writes a model into a file.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/model/state/event_path.h"
#include "server/models/catalogue/catalogue.h"
#include "server/models/exported_file.h"
#include "server/models/folder/export.h"
#include "server/models/users/user_table.h"

namespace bandana::server {

struct ModelToExport {
  const std::string& folder;     // where the file is made
  std::uint64_t free_bytes = 0;  // there
  const v1::ModelConfig& config;
  const EventPath& path;
  std::string checkpoint;
  const WindowValues& values;  // StateToExport
  const Catalogue& catalogue;
  UserTable& users;
};

// Memory: the decoded checkpoint, beside the given one for a moment. Everything else is written
// piece by piece. Errors: RESOURCE_EXHAUSTED the disk has no room for it; as WriteExport.
absl::StatusOr<ExportedFile> WriteModelExport(ModelToExport model);

}  // namespace bandana::server
