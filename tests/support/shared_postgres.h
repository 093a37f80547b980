// One PostgreSQL server for all tests of a program, and engines on it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "common/base/file.h"
#include "server/log/postgresql/pg_engine.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {

inline PostgresServer& Postgres() {
  static auto* const server = new PostgresServer;
  return *server;
}

// A connection to it by way of `proxy`.
inline std::string Through(const FaultProxy& proxy) {
  const std::string address = proxy.address();
  return Postgres().connection(std::stoi(address.substr(address.find(':') + 1)));
}

// A key file of 64 times `digit`.
inline std::string KeyFile(const TempDir& folder, char digit = 'a') {
  std::string path = folder.File(std::string("key") + digit);
  EXPECT_THAT(WriteFileDurably(path, std::string(64, digit), 0600), IsOk());
  return path;
}

// With a short lease and little patience.
inline server::PgSettings SettingsFor(const std::string& connection,
                                      const std::string& holder = "one") {
  return {.connection = connection,
          .holder = holder,
          .lease = absl::Milliseconds(900),
          .patience = absl::Seconds(2)};
}

}  // namespace bandana::testing
