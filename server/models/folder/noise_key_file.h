// The secret that a server's central noise is a function of: data_dir/noise_key, or a file that the
// servers of one database have alike.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/random/bit_source.h"
#include "common/random/keyed_stream.h"

namespace bandana::server {

// Whether the file is there, be it damaged.
bool HasNoiseKey(const std::string& data_dir);
// A key that is in no file. Errors: UNAVAILABLE no randomness.
absl::StatusOr<std::shared_ptr<const NoiseKey>> NewNoiseKey(BitSource& bits);

// Reads the key, or makes the file (mode 0600) with a fresh one from `bits` where there is none.
// The key never leaves the folder: exports do not hold it, and a model refuses to open under
// another one. Errors: FAILED_PRECONDITION not a regular file, or its mode lets others in;
// DATA_LOSS damaged; UNAVAILABLE I/O or entropy.
absl::StatusOr<std::shared_ptr<const NoiseKey>> OpenNoiseKey(const std::string& data_dir,
                                                             BitSource& bits);

// Reads a key of 64 hexadecimal digits, white space at its end allowed; makes none. Errors:
// FAILED_PRECONDITION not a regular file, or its mode lets others in; INVALID_ARGUMENT other
// content; NOT_FOUND; UNAVAILABLE I/O.
absl::StatusOr<std::shared_ptr<const NoiseKey>> ReadNoiseKey(const std::string& path);

}  // namespace bandana::server
