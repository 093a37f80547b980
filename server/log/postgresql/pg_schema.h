// Parts of the schema `bandana`: made where they are missing, and refused in another version.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "server/log/postgresql/pg_connection.h"

namespace bandana::server {

// All texts are constants of the program.
struct PgSchemaPart {
  const char* what;     // for people: "logs"
  const char* make;     // one transaction, which others that come at the same time wait for
  const char* find;     // whether its table of the version is there
  const char* version;  // what stands there
  std::int64_t needed;
};

// Errors: FAILED_PRECONDITION another version, or no right to make the part; those of
// PgConnection::Run.
absl::Status EnsurePart(PgConnection& connection, const PgSchemaPart& part);

}  // namespace bandana::server
