// The header of an export, for whoever is to take it: bandana.v1.ExportHeader.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "server/models/folder/export.h"

namespace bandana::server {

// From the lengths in the bytes, of which it reads next to nothing. A configuration that is too
// large for a message is abridged. Errors: as LookAtExport; DATA_LOSS the configuration.
absl::StatusOr<v1::ExportHeader> HeaderOfExport(std::string_view bytes);

// Whether `promised` is the header of these bytes. Errors: INVALID_ARGUMENT naming the field; as
// HeaderOfExport.
absl::Status CheckPromised(const v1::ExportHeader& promised, std::string_view bytes);

}  // namespace bandana::server
