// Servers that share a database, as registries in one process.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "server/log/postgresql/pg_engine.h"
#include "server/models/registry.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {

inline constexpr char kPlain[] =
    "name: 'm' dimension: 2 mode: NON_PRIVATE shared {} refresh_interval {}"
    " reporting { one_per_decision: true }";
inline constexpr char kCentral[] =
    "name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
    " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER } reporting { one_per_decision: true }";

class SharedDatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    database_ = std::make_unique<PostgresServer>();
    ASSERT_THAT(WriteFileDurably(folder_.File("key"), std::string(64, '7'), 0600), IsOk());
  }

  // A server with a folder of this name, and an address that nobody listens at.
  server::ModelRegistry::Options OptionsOf(const std::string& name) {
    server::ModelRegistry::Options options{
        .data_dir = folder_.File(name),
        .models_max = 100,
        .log = server::MakePgEngine({.connection = database_->connection(),
                                     .key_file = folder_.File("key"),
                                     .holder = name,
                                     .lease = absl::Seconds(2),
                                     .patience = absl::Seconds(1)}),
        .noise_key_file = folder_.File("key")};
    options.address = name + ":1";
    options.warn = [this, name](std::string_view model, const std::string& message) {
      const std::lock_guard lock(mutex_);
      warnings_.push_back(name + ": " + message);
      std::printf("%s %s: %s\n", name.c_str(), std::string(model).c_str(), message.c_str());
    };
    return options;
  }

  TempDir folder_;
  std::unique_ptr<PostgresServer> database_;
  std::mutex mutex_;  // guards what follows, and what tests add
  std::vector<std::string> warnings_;
};

}  // namespace bandana::testing
