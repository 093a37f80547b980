// An exported model, as a file.
#pragma once

#include "bandana/v1/admin.pb.h"
#include "common/base/temp_file.h"

namespace bandana::server {

// Nobody else sees or changes the file.
struct ExportedFile {
  TempFile file;
  v1::ExportHeader header;
};

}  // namespace bandana::server
