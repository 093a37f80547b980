// Whether this server can take an exported model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/v1/admin.pb.h"
#include "common/design/model_spec.h"

namespace bandana::server {

// By itself: format, sizes. Errors: FAILED_PRECONDITION, INVALID_ARGUMENT; messages begin with the
// field.
absl::Status CheckHeader(const v1::ExportHeader& header);

// Beside the configuration that was parsed from the export. `token_lifetime_max`: the server's.
// Errors: FAILED_PRECONDITION.
absl::Status CheckHeaderFits(const v1::ExportHeader& header, const ModelSpec& spec,
                             absl::Duration token_lifetime_max);

// Whether `times` copies of `bytes` fit into what is `free` on the disk of `folder`. Some of that
// is kept for the logs of all models: a full disk stops learning. `what` begins the message.
// Errors: RESOURCE_EXHAUSTED.
absl::Status CheckDisk(std::string_view what, std::uint64_t bytes, int times, std::uint64_t free,
                       const std::string& folder);

}  // namespace bandana::server
