// The users of a model on their way into a copy of it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/byte_sink.h"
#include "common/design/model_spec.h"
#include "server/models/users/user_store.h"

namespace bandana::server {

// As exports carry them: docs/formats/checkpoint.md. Errors: of UserStore::ForEach and `sink`.
absl::Status EncodeUsers(UserStore& store, const ByteSink& sink);

// Makes the table with the users of an export; none where there are none. Errors:
// DATA_LOSS damaged, or users that no call could put; those of UserTable.
absl::Status MakeUsers(const ModelSpec& spec, std::string_view users, const TablePlace& place);

// Copies a table's users, and the digest of the file that they came from. Errors: those of
// UserStore.
absl::Status CopyUserTable(const TablePlace& from, const TablePlace& to);

}  // namespace bandana::server
