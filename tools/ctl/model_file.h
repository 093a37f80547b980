// Files that bandana-ctl reads on behalf of the server, which reads none of them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "bandana/v1/config.pb.h"
#include "common/design/files/users_tsv.h"

namespace bandana {

struct ModelFile {
  v1::ModelConfig config;  // graph and users inline
  std::string arms_file;   // resolved path, or empty
  std::string users_file;  // of a model with effects; resolved path, or empty
};

// Reads a textproto of ModelConfig, checks it, and takes the files it names in. Errors:
// INVALID_ARGUMENT with every mistake, `FILE:LINE:COLUMN: ...` or `FILE: field: ...`; ReadFile's.
absl::StatusOr<ModelFile> ReadModelFile(const std::string& path);

// Reads a textproto of ModelConfig that has some fields only, as they are: what is wrong with them
// the server says. Errors: INVALID_ARGUMENT `FILE:LINE:COLUMN: ...`; ReadFile's.
absl::StatusOr<v1::ModelConfig> ReadModelChange(const std::string& path);

// Arms of an arms.tsv, or of a .jsonl with an Arm in JSON per line (then `dimension` is not asked
// for). Errors: INVALID_ARGUMENT with file and line; ReadFile's.
absl::StatusOr<std::vector<v1::Arm>> ReadArms(const std::string& path, int dimension);

// The user at this position of a users.tsv with groups.
void FillUser(const UserGroups& users, std::size_t position, v1::User& user);

}  // namespace bandana
