// Logs in PostgreSQL.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "server/log/log_engine.h"

namespace bandana::server {

struct PgSettings {
  std::string connection;  // libpq's connection string or URI
  std::string key_file;    // 32 random bytes in hexadecimal; empty: records are not sealed
  std::string holder;      // names this server among all that use the database
  absl::Duration lease = absl::Seconds(10);
  absl::Duration patience = absl::Seconds(5);  // with each statement
};

std::shared_ptr<const LogEngine> MakePgEngine(PgSettings settings);

}  // namespace bandana::server
