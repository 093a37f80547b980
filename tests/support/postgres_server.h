// A PostgreSQL server of a test's own, in a folder of its own, on a loopback port that the system
// chose.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {

// Not thread-safe. Aborts the test program when a program that is there cannot be run.
class PostgresServer {
 public:
  // Whether this machine has the programs (package postgresql), and a user who is not root.
  static bool Available();

  // Starts an empty database `bandana` of a user `bandana` without a password. `settings` are those
  // of postgresql.conf, "name=value".
  explicit PostgresServer(const std::vector<std::string>& settings = {});
  ~PostgresServer();

  // A server that follows this one. From now on this one confirms what the other has written down
  // as well (synchronous_standby_names); without the other it confirms nothing. `port`: 0: a free
  // one.
  std::unique_ptr<PostgresServer> MakeStandby(int port = 0);
  // The standby becomes a primary, which waits for nobody.
  void Promote();

  // 127.0.0.1:PORT.
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // For the server, or whatever stands before it at that port.
  std::string connection(int port = 0) const;
  int port() const { return port_; }
  std::string data() const { return folder_.path() + "/data"; }

  void Start();
  // As `kill -9`, of the server and all its processes.
  void Kill();
  // Runs a statement as the superuser.
  void Sql(const std::string& statement);
  // Keeps what the database `bandana` holds (pg_dump), and puts it back to what was kept.
  void Dump();
  void Restore();
  // The answer of a query for one number in the database `bandana`, as the superuser.
  std::int64_t Number(const std::string& query);
  // How many rows a table of the database `bandana` has.
  int Count(const std::string& table);

 private:
  struct OfPrimary {
    const PostgresServer& primary;
    int port;
  };
  explicit PostgresServer(OfPrimary of);
  void TakeFolder();
  static std::string Program(const std::string& name);
  std::vector<std::string> AsUser(std::vector<std::string> command) const;
  // Its output.
  std::string Run(const std::vector<std::string>& command);
  std::vector<std::string> Psql(const std::string& database, const std::string& statement) const;
  bool Answers();

  TempDir folder_;
  std::vector<std::string> settings_;
  int port_ = 0;
  std::unique_ptr<ChildProcess> server_;
};

}  // namespace bandana::testing
