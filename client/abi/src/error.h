// The last error of a thread, for bandana_error.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace bandana::abi {

// Keeps the message of a failure, at most 511 bytes of it, and returns the code.
std::int32_t Returned(const absl::Status& status);
const char* LastError();

}  // namespace bandana::abi
