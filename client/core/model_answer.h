// The server's answer to GetModel, read from its bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/promise/public_spec.h"

namespace bandana::device {

struct ModelAnswer {
  PublicSpec spec;
  std::uint64_t epoch = 0;
};

// Errors: INTERNAL the bytes are no message; as ParsePublicSpec.
absl::StatusOr<ModelAnswer> ReadModelAnswer(std::string_view response);

}  // namespace bandana::device
